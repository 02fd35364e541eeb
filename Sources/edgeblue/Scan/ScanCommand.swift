import ArgumentParser
import BlueZ
import EdgeCoder
import Timing

/// `edgeblue scan`
struct ScanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "List the EdgeCoder phones in range, or with --all every LE device.",
    discussion: """
      In a terminal the table is updated in place; otherwise it is printed once, at the end. AGE is the time since the \
      last advertisement. Once the services of a device were read over a connection, bluetoothd no longer reports which \
      of them the device advertises; they are marked "read earlier".

      EXAMPLES
        edgeblue scan
        edgeblue scan --all --seconds 30
        edgeblue scan --service 180d --service 1816
        edgeblue scan --json | jq '.devices[].address'
      """)

  @Option(help: ArgumentHelp("The duration of the scan, 1 to 3600 s.", valueName: "seconds")) var seconds = 10
  @Flag(help: "List all LE devices, not only phones.") var all = false
  @Option(
    help: ArgumentHelp(
      "List devices that advertise this service: four hexadecimal digits or a full UUID; may be repeated.",
      valueName: "uuid"),
    transform: reading("a Bluetooth UUID") { BluetoothUUID($0) })
  var service: [BluetoothUUID] = []
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--seconds", seconds, 1...3600, unit: "s")
    if all, !service.isEmpty { throw ValidationError("Use either --all or --service.") }
  }

  func run() async throws {
    try await common.run { terminal in
      guard let phone = BluetoothUUID(EdgeCoderUUIDs.service) else {
        throw Failure("the EdgeCoder service has no valid UUID", status: .failed)
      }
      let radio = try await Radio.open(adapter, terminal)
      terminal.whisper("Scanning for \(wanted) on \(radio.title) for \(seconds) s …")
      let table = try await untilInterrupted { try await look(with: radio, phone, terminal) }
      let now = ContinuousClock.now
      if common.json {
        let devices = table.sorted.map { $0.json(isPhone: $0.services.contains(phone), now: now) }
        terminal.print(json: .object(["devices": .array(devices)]))
      } else if table.sorted.isEmpty {
        terminal.say("No \(all ? "LE device" : service.isEmpty ? "phone" : "such device") is in range.")
        if wantsPhones {
          terminal.say("Start `edgeblue phone` in range, or list all devices with --all.")
        }
      } else if !terminal.isLive {
        terminal.say(ScanTable.heading)
        for line in table.lines(now: now) { terminal.say(line) }
      }
    }
  }

  private var wantsPhones: Bool { !all && service.isEmpty }

  private var wanted: String {
    if all { return "LE devices" }
    let names = service.map { AttributeNames.service($0) ?? AttributeNames.short($0) }
    return wantsPhones ? "phones" : "devices with \(names.joined(separator: " or "))"
  }

  /// Returns the table at the end of the scan; in a terminal it is redrawn meanwhile.
  private func look(with radio: Radio, _ phone: BluetoothUUID, _ terminal: Terminal) async throws -> ScanTable {
    let sightings = try await radio.adapter.discover(
      .init(services: wantsPhones ? [phone] : Set(service), duplicates: true))
    let scanner = Scanner()
    let collector = Task { await scanner.collect(sightings) }
    defer { collector.cancel() }
    var screen = LiveScreen()
    let end = ContinuousClock.now + .seconds(seconds)
    while true {
      let table = await scanner.table
      if terminal.isLive {
        // Two lines less: the heading, and the line of the cursor.
        let lines = table.lines(now: .now, limit: LiveScreen.height - 2)
        Output.write(screen.frame([terminal.paint(ScanTable.heading, .bold)] + lines))
      }
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { return table }
      try await Task.sleep(for: min(Duration.milliseconds(500), left), clock: .steady)
    }
  }
}
