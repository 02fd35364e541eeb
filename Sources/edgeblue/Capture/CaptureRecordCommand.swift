import ArgumentParser
import Btsnoop
import Timing

/// `edgeblue capture record`
struct CaptureRecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Record the Bluetooth traffic of this host to a file (the default).",
    discussion: """
      Records until Ctrl-C, SIGTERM, --seconds or the end of the space, and prints what happens meanwhile. The file is \
      complete after every packet: also a killed program leaves a file that can be read. An existing file is kept \
      unless --replace is given.

      Start before the device connects: of a connection that exists already the kernel does not say to which device it \
      belongs, and --device leaves it out.

      Keys and the secrets of pairing are replaced with zeros, and what programs tell the kernel is left out, because it \
      contains keys. --with-keys keeps both: whoever has such a file can decrypt later connections and pass for the \
      device. The content of values stays unless --mask is given: it then becomes zeros, in attributes, channels, names \
      and advertised data.

      With --files the file is renamed to NAME.1 when it has --size, and the recording goes on in a new one; the oldest \
      file is removed. Without it the recording ends at --size.

      EXAMPLES
        sudo edgeblue capture lamp.btsnoop
        sudo edgeblue capture lamp.btsnoop --device 00:AA:01:00:00:42 --seconds 60
        sudo edgeblue capture night.btsnoop --size 20 --files 10 --mask
        sudo setcap cap_net_raw+ep "$(command -v edgeblue)"     record without sudo from then on
        edgeblue capture lamp.btsnoop --json | jq 'select(.event == "disconnected") | .reason'
      """)

  @Argument(help: "The file to write.", completion: .file()) var file: String
  @Option(
    help: ArgumentHelp("Record the traffic with this device only.", valueName: "address"), completion: .devices,
    transform: readDeviceAddress)
  var device: DeviceAddress?
  @Option(
    help: ArgumentHelp("Record the traffic of this adapter only, such as hci0. Default: all.", valueName: "name"),
    completion: .adapters,
    transform: reading("the name of an adapter, such as hci0") {
      $0.hasPrefix("hci") && $0.utf8.count > 3 && $0.utf8.dropFirst(3).allSatisfy { 48...57 ~= $0 }
        ? UInt16($0.dropFirst(3)) : nil
    })
  var adapter: UInt16?
  @Option(
    help: ArgumentHelp("The duration of the recording, 1 to 604800 s. Default: until Ctrl-C.", valueName: "seconds"))
  var seconds: Int?
  @Option(help: ArgumentHelp("The largest size of a file, 1 to 10000 MiB.", valueName: "MiB")) var size = 100
  @Option(help: ArgumentHelp("The number of files that are kept, 1 to 100.", valueName: "count")) var files = 1
  @Flag(help: "Keep keys and the secrets of pairing in the file.") var withKeys = false
  @Flag(help: "Replace the content of values, names and advertised data with zeros.") var mask = false
  @Flag(help: "Replace an existing file.") var replace = false
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--seconds", seconds, 1...604_800, unit: "s")
    try checkRange(of: "--size", size, 1...10_000, unit: "MiB")
    try checkRange(of: "--files", files, 1...100)
    if withKeys, mask { throw ValidationError("Use either --with-keys or --mask.") }
  }

  func run() async throws {
    try await common.run { terminal in
      let filter = CaptureFilter.Options(device: device, adapter: adapter, keepsKeys: withKeys, masksPayloads: mask)
      let limits = CaptureFile.Limits(bytes: size << 20, files: files)
      let capture = try CaptureSession(to: file, replacing: replace, limits: limits, filter: filter)
      terminal.whisper(
        "Recording \(device.map { "the traffic with \($0)" } ?? "all Bluetooth traffic") to \(file) …"
          + (seconds == nil ? " Ctrl-C ends it." : ""))
      if withKeys { terminal.whisper("The file will contain keys: keep it to yourself.") }
      if terminal.json { terminal.happened("", "started", ["file": .string(file)]) }
      let end = await untilStopped(capture, terminal)
      report(end, terminal)
      if let error = end.error { throw error }
    }
  }

  /// Prints what happens, until a signal or the end of the recording.
  private func untilStopped(_ capture: CaptureSession, _ terminal: Terminal) async -> CaptureSession.End {
    let printer = Task {
      for await entries in capture.entries {
        for entry in entries { entry.print(terminal) }
      }
    }
    let signals = Task {
      do {
        try await untilInterrupted { try await Task.sleep(for: .seconds(seconds ?? 604_800 * 52), clock: .steady) }
        capture.stop(.time)
      } catch {
        // A signal; or the recording has ended, and stopping it again has no effect.
        capture.stop()
      }
    }
    let ticks = Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(1), clock: .steady)
        capture.tick(at: WallClock.unixMilliseconds() * 1000)
      }
    }
    let end = await capture.end()
    signals.cancel()
    ticks.cancel()
    await printer.value
    if capture.entries.dropped > 0 {
      terminal.whisper("\(capture.entries.dropped) bursts of events were not printed; the file has them.")
    }
    return end
  }

  private func report(_ end: CaptureSession.End, _ terminal: Terminal) {
    guard !terminal.json else {
      return terminal.happened(
        "", "stopped",
        [
          "file": .string(file), "packets": .number(end.packets), "bytes": .number(end.bytes),
          "files": .number(end.files), "reason": .string(end.reason.rawValue),
        ])
    }
    let reason =
      switch end.reason {
      case .stopped: ""
      case .time: ": \(seconds ?? 0) s are over"
      case .size: ": it has \(size) MiB (--size, --files)"
      case .failed: ", and the recording failed"
      }
    terminal.whisper(
      "\(end.packets) packets, \(Amounts.bytes(end.bytes)) in \(end.files == 1 ? file : "\(end.files) files")\(reason). "
        + "Show them: edgeblue capture show \(file)")
  }
}
