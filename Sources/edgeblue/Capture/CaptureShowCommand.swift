import ArgumentParser
import Btsnoop
import DurableFiles

/// `edgeblue capture show`
struct CaptureShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Print what happened in a recording, and the amounts for each characteristic.",
    discussion: """
      Reads btsnoop files of `edgeblue capture`, btmon and Android (the Bluetooth HCI snoop log). Values of the same \
      characteristic within a minute are one line, with their rate. SENT counts notifications and indications, and MEAN is \
      the mean time from a request to its response. Nothing is sent to any device, and no privilege is needed.

      EXAMPLES
        edgeblue capture show lamp.btsnoop
        edgeblue capture show lamp.btsnoop --device 00:AA:01:00:00:42
        edgeblue capture show btsnoop_hci.log --json | jq 'select(.event == "disconnected") | .reason'
      """)

  @Argument(help: "The file to show.", completion: .file()) var file: String
  @Option(
    help: ArgumentHelp("Show this device and its connections only.", valueName: "address"),
    transform: readDeviceAddress)
  var device: DeviceAddress?
  @OptionGroup var common: CommonOptions

  /// The microseconds over which repeated events are put together.
  private static let window: Int64 = 60_000_000

  func run() async throws {
    try await common.run { terminal in
      var timeline = Timeline(window: Self.window)
      var filter = CaptureFilter(.init(device: device, keepsKeys: true))
      var day = ""
      func show(_ entries: [TimelineEntry]) {
        for entry in entries {
          if !terminal.json, case let new = TimelineEntry.clock(entry.time).day, new != day {
            day = new
            terminal.say(terminal.paint(day, .bold))
          }
          entry.print(terminal)
        }
      }
      let problem = try RecordingFile(file).read { record in
        if let record = filter.handle(record) { show(timeline.handle(record)) }
      }
      show(timeline.finish())
      let report = TrafficReport(timeline)
      if terminal.json { terminal.print(json: report.json) }
      terminal.say()
      for line in report.lines(terminal.paint) { terminal.say(line) }
      if let problem { throw problem }
    }
  }
}

/// A recording on disk, which is read in pieces.
struct RecordingFile {
  private let path: String
  private let file: ReadableFile

  private static let pieceLength = 64 << 10

  /// - Throws: `FileError`, or `Failure` for what is no file.
  init(_ path: String) throws {
    self.path = path
    file = try ReadableFile(path, followsLinks: true)
    guard file.isRegular else { throw Failure("\(path) is no file", status: .badInput) }
  }

  /// Reads all records.
  /// - Returns: The fault that ended the reading early; the records before it are good.
  /// - Throws: `BtsnoopError` for a file that is no recording; `FileError`.
  func read(_ body: (CaptureRecord) throws -> Void) throws -> BtsnoopError? {
    var reader = BtsnoopReader()
    var buffer = [UInt8](repeating: 0, count: Self.pieceLength)
    var offset: Int64 = 0
    do {
      while true {
        let count = try buffer.withUnsafeMutableBytes { try file.read($0, at: offset) }
        guard count > 0 else { break }
        offset += Int64(count)
        reader.append(buffer[..<count])
        while let record = try reader.next() { try body(record) }
      }
      try reader.finish()
      return nil
    } catch let error as BtsnoopError {
      var named = error
      named.message = "\(path): \(error.message)"
      guard reader.count > 0 else { throw named }
      return named
    }
  }
}
