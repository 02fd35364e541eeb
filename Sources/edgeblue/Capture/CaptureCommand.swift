import ArgumentParser
import Btsnoop

/// `edgeblue capture`
struct CaptureCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "capture",
    abstract: "Record the Bluetooth traffic of this host to a file, and show such a file.",
    discussion: """
      The file has the format btsnoop, which Wireshark and btmon read. Recording needs the capability CAP_NET_RAW, which \
      root has; showing needs none. `edgeblue capture FILE` records; the options are in `edgeblue capture record --help`.

      EXAMPLES
        sudo edgeblue capture lamp.btsnoop --device 00:AA:01:00:00:42
        edgeblue capture show lamp.btsnoop
        wireshark lamp.btsnoop
      """,
    subcommands: [CaptureRecordCommand.self, CaptureShowCommand.self],
    defaultSubcommand: CaptureRecordCommand.self)
}

/// Reads the address of a device in a recording.
func readDeviceAddress(_ text: String) throws -> DeviceAddress {
  try reading("a Bluetooth address") { DeviceAddress($0) }(text)
}
