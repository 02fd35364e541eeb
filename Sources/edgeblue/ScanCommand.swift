import ArgumentParser
import BlueZ
import DBus
import EdgeCoder

/// `edgeblue scan`
struct ScanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "List the EdgeCoder phones nearby, or with --all every LE device.",
    discussion: """
      EXAMPLES
        edgeblue scan
        edgeblue scan --all --seconds 30
        edgeblue scan --json | jq '.devices[].address'
      """)

  @Option(help: ArgumentHelp("How long to look, 1 to 3600.", valueName: "seconds")) var seconds = 10
  @Flag(help: "List every LE device, not only phones.") var all = false
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (1...3600).contains(seconds) else { throw ValidationError("--seconds is 1 to 3600.") }
  }

  func run() async throws {
    try await common.run { terminal in
      let radio = try await Radio.open(adapter, terminal)
      terminal.whisper("Looking for \(all ? "LE devices" : "phones") with \(radio.title) for \(seconds) s …")
      let found = try await untilInterrupted { try await look(with: radio) }
      if common.json {
        terminal.print(json: .object(["devices": .list(found.map(\.json))]))
      } else {
        show(found, on: terminal)
      }
    }
  }

  private struct Find: Sendable {
    let address: String
    var name: String?
    var rssi: Int?
    var isPhone: Bool

    var json: JSON {
      .object([
        "address": .string(address), "name": JSON(name), "rssi": JSON(rssi), "edgecoder": .bool(isPhone),
      ])
    }
  }

  /// What is in sight at the end, strongest first.
  private func look(with radio: Radio) async throws -> [Find] {
    guard let service = BluetoothUUID(EdgeCoderUUIDs.service) else {
      throw Failure("the EdgeCoder service has no valid UUID", status: .failed)
    }
    let sightings = try await radio.adapter.discover(.init(services: all ? [] : [service], duplicates: true))
    let collector = Task {
      var found: [String: Find] = [:]
      for await sighting in sightings {
        let address = sighting.device.peer.description
        if sighting.isLost {
          found[address] = nil
          continue
        }
        let isPhone = sighting.device.advertisedServices.contains(service)
        found[address] = Find(
          address: address, name: sighting.device.name ?? found[address]?.name,
          rssi: sighting.rssi ?? found[address]?.rssi, isPhone: isPhone || found[address]?.isPhone == true)
      }
      return found.values.sorted { ($0.rssi ?? -128, $1.address) > ($1.rssi ?? -128, $0.address) }
    }
    defer { collector.cancel() }
    try await Task.sleep(for: .seconds(seconds), clock: .steady)
    collector.cancel()
    return await collector.value
  }

  private func show(_ found: [Find], on terminal: Terminal) {
    guard !found.isEmpty else {
      terminal.say(all ? "No LE device is in sight." : "No phone is in sight.")
      if !all { terminal.say("Start `edgeblue phone` somewhere near, or look at everything with --all.") }
      return
    }
    let names = found.map { $0.name?.printable ?? "(no name)" }
    let width = (names.map(\.count).max() ?? 0) + 2
    terminal.say(terminal.paint("NAME".padded(to: width) + "ADDRESS".padded(to: 19) + "SIGNAL", .bold))
    for (find, name) in zip(found, names) {
      let mark = all && find.isPhone ? "  EdgeCoder phone" : ""
      terminal.say(
        name.padded(to: width) + find.address.padded(to: 19) + (find.rssi.map { "\($0) dBm" } ?? "unknown") + mark)
    }
  }
}
