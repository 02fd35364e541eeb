import BlueZ
import Streams

/// Keeps the table of who is in sight.
actor Scanner {
  private(set) var table = ScanTable()

  /// Takes sightings until there are no more.
  func collect(_ sightings: BoundedStream<Adapter.ScanResult>) async {
    for await sighting in sightings { note(sighting) }
  }

  private func note(_ sighting: Adapter.ScanResult) {
    let address = sighting.device.peer.description
    guard let heard = sighting.advertisement else { return table.lose(address) }
    table.see(
      .init(
        address: address, name: heard.name, rssi: heard.rssi, services: heard.services,
        servicesWereRead: heard.servicesWereRead,
        companies: Set(heard.manufacturerData.keys), heard: .now))
  }
}
