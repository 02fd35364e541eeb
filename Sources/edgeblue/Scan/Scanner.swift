import BlueZ
import Streams

/// Keeps the table of devices in range.
actor Scanner {
  private(set) var table = ScanTable()

  /// Collects scan results until the stream ends.
  func collect(_ results: BoundedStream<Adapter.ScanResult>) async {
    for await result in results { note(result) }
  }

  private func note(_ result: Adapter.ScanResult) {
    let address = result.device.peer.description
    guard let advertisement = result.advertisement else { return table.lose(address) }
    table.see(
      .init(
        address: address, name: advertisement.name, rssi: advertisement.rssi, services: advertisement.services,
        servicesWereRead: advertisement.servicesWereRead,
        companies: Set(advertisement.manufacturerData.keys), receivedAt: .now))
  }
}
