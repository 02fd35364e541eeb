import ArgumentParser
import BlueZ

/// `edgeblue inspect`
struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Connect to a device, and print its services, characteristics and values.",
    discussion: """
      Writes nothing and subscribes to nothing. A connection that the command makes is closed at the end. Reading an \
      attribute that requires encryption may start pairing; --no-values reads nothing.

      EXAMPLES
        edgeblue inspect 00:AA:01:00:00:42
        edgeblue inspect --no-values 00:AA:01:00:00:42
        edgeblue inspect --json 00:AA:01:00:00:42 | jq '.services[].name'
      """)

  @Argument(
    help: "The device's address, as `edgeblue scan --all` lists it.",
    completion: .devices, transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var address: BluetoothAddress

  @Flag(name: .customLong("no-values"), help: "Print the services and characteristics without reading values.")
  var noValues = false
  @Option(help: ArgumentHelp("The timeout for finding the device, 1 to 3600 s.", valueName: "seconds")) var wait = 30
  @Option(help: ArgumentHelp("The timeout for reading all values, 1 to 3600 s.", valueName: "seconds"))
  var timeout = 60
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--wait", wait, 1...3600, unit: "s")
    try checkRange(of: "--timeout", timeout, 1...3600, unit: "s")
  }

  func run() async throws {
    try await common.run { terminal in
      let radio = try await Radio.open(adapter, terminal)
      let inspector = Inspector(
        adapter: radio.adapter, address: address, wait: .seconds(wait), timeout: .seconds(timeout),
        readsValues: !noValues, progress: { terminal.whisper($0) })
      let inspection = try await untilInterrupted { try await inspector.inspect() }
      if common.json {
        terminal.print(json: inspection.json)
      } else {
        terminal.say(inspection.title)
        for line in inspection.tree(paint: terminal.paint) { terminal.say(line) }
      }
      guard inspection.unread == 0 else {
        throw Failure(
          "\(inspection.unread) values were not read within \(timeout) s", hint: "increase --timeout",
          status: .tryAgain)
      }
    }
  }
}
