import ArgumentParser
import AudioIngest
import AudioWearables
import BlueZ
import Uploads

/// `edgeblue record`
struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Record the audio of a wearable as WAV segments.",
    discussion: """
      Stays connected to a wearable of the Omi family (or of the kind that the options describe), and writes its audio \
      to segments, each with a sidecar that lists the gaps. Audio is on disk within 1 s; after a crash, the next \
      recorder finishes the open segment. Ctrl-C and SIGTERM finish the open segment and disconnect. A terminal shows \
      the current status; other outputs receive one line per event.

      \(Recordings.help) `edgeblue segments` lists the segments, even while a recorder runs.

      --wearable names the wearable, once: the folder stores its address. Without one, the wearables in range are listed, \
      and none is recorded. At the first connection the wearable is asked to pair. If it does, nothing is recorded later \
      from a device that uses its address without its keys. If it does not, a warning says so at each start.

      Recordings that a wearable stored while it was not connected are fetched beside the stream, and become segments of \
      their own, with their capture time; their sidecars name the gaps that they fill. The wearable frees them once they \
      are on this disk; with --leave-stored they stay in the wearable.

      With --upload each segment and its sidecar are queued when they are finished, the last ones at the end, and \
      uploaded as ACCOUNT/DEVICE/DATE/NAME (`edgeblue uploads`). They stay in the folder; once the server has both, they \
      may be removed when space is needed. With --format the audio is uploaded as FLAC or Opus: a file of that format is \
      made beside the WAV file, which stays until both are removed. What a killed recorder has not queued is queued by \
      the next program that uploads the queue.

      With --exec a command is run for each finished segment of the folder, one at a time, with the path of the WAV file as \
      its last argument. No shell reads the command: its words are separated by spaces. Its environment has \
      EDGEBLUE_SEGMENT, EDGEBLUE_SIDECAR and EDGEBLUE_TRANSCRIPT, where it may write a transcript, and no variable that \
      holds a secret. When it exits with status 0 that file becomes the segment's transcript; otherwise it is removed, and \
      the command is run again after 10 s, 1 min and 10 min, and by the next recorder. `edgeblue segments show` prints \
      what became of it. After Ctrl-C or SIGTERM the command is run for the last segments, within --exec-limit; a second \
      Ctrl-C or SIGTERM stops it, and the next recorder runs it for what is left.

      Segments have one channel, and the sample rate of the wearable's codec: 16 kHz, or 8 kHz for some. With --rate 16000 \
      what is uploaded, and the file that a command gets, always have 16 kHz: where the codec has another rate, a \
      converted file is made beside the WAV file, which stays until both are removed.

      EXAMPLES
        edgeblue record                                 lists the wearables in range
        edgeblue record --wearable FA:0B:00:00:00:01    records this one
        edgeblue record                                 records it again
        edgeblue record --out recordings --keep speech
        edgeblue record --upload recordings --account ada --format flac
        edgeblue record --wearable FA:0B:00:00:00:01 --wearable FA:0B:00:00:00:02
        edgeblue record --rate 16000 --exec "whisper-transcribe --language en"
        edgeblue record --json | jq 'select(.event == "segment") | .path'
        edgeblue record --service 180a --characteristic 2a29 --codec pcm8k --wearable FA:0B:00:00:00:03
      """)

  @Option(
    help: ArgumentHelp(
      "The address of the wearable; may be repeated to record several. Default: the ones named last for this folder.",
      valueName: "address"), completion: .devices,
    transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var wearable: [BluetoothAddress] = []
  @Flag(help: "Leave stored recordings in the wearable: neither fetch nor free them.")
  var leaveStored = false
  @Option(
    help: ArgumentHelp("The folder for recordings; it is created if it does not exist.", valueName: "folder"),
    completion: .directory)
  var out: String?
  @Option(name: .customLong("upload"), help: ArgumentHelp("The bucket to upload segments to.", valueName: "bucket"))
  var bucket: String?
  @Option(help: ArgumentHelp("The prefix of the keys of uploaded segments.", valueName: "text")) var prefix = ""
  @OptionGroup var delivery: DeliveryOptions
  @Option(help: ArgumentHelp("The command to run for each finished segment.", valueName: "command")) var exec: String?
  @Option(help: ArgumentHelp("The time after which such a command is stopped, 1 to 86400 s.", valueName: "seconds"))
  var execLimit = 600
  @OptionGroup(title: "Upload options") var queue: QueueOptions
  @OptionGroup(title: "Upload options") var store: StoreOptions
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var rules: SegmentOptions
  @OptionGroup var kind: WearableOptions
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    if let bucket { try checkKeys(in: bucket) }
    try delivery.validate(uploads: bucket != nil, runsCommand: exec != nil)
    try checkRange(of: "--exec-limit", execLimit, 1...86_400, unit: "s")
    if exec != nil, command == nil { throw ValidationError("--exec is empty.") }
    if Set(wearable).count < wearable.count { throw ValidationError("--wearable lists the same address twice.") }
  }

  /// Refuses what no server takes: otherwise no segment could be queued.
  private func checkKeys(in bucket: String) throws {
    if store.account.isEmpty { throw ValidationError("--account is empty.") }
    do throws(UploadsError) {
      try S3Endpoint.check(bucket: bucket)
      try S3Endpoint.check(key: SegmentRequests.longestKey(prefix, store.account))
    } catch {
      throw ValidationError("--upload, --prefix, --account: \(error.message).")
    }
  }

  private var command: SegmentCommand? { exec.flatMap { SegmentCommand($0, limit: .seconds(execLimit)) } }

  func run() async throws {
    try await common.run { terminal in
      try insecure.check(["--endpoint": store.endpoint, "--token-service": store.tokenService], terminal)
      let described = try kind.wearable()
      let folder = try SegmentFolder(path: try Recordings.path(out), limits: rules.limits)
      if !wearable.isEmpty { try folder.remember(wearable, of: described) }
      let addresses = try folder.wearables(of: described).map(\.address)
      guard !addresses.isEmpty else { throw try await WearableFinder(described).choice(on: adapter, terminal) }
      let diary = RecordDiary(folder: folder, terminal, maximum: rules.rules.maximum, tracks: addresses.count)
      try await diary.recover()
      let form = try delivery.choose(for: folder, uploads: bucket != nil)
      let sink = try await sink(for: folder, form, diary, terminal)
      let commands = try await commands(for: folder, form, diary, sink)
      let uploads = try sink.map { try store.queue($0.store, at: try store.server($0.store), disk: $0) }
      let radio = try await Radio.open(adapter, terminal)
      let recorders = addresses.map {
        WearableRecorder(
          described, at: radio.adapter, address: $0, into: folder,
          settings: .init(rules: rules.rules, fetchesStored: !leaveStored), sink: sink)
      }
      terminal.whisper("Recording on \(radio.title) to \(folder.path). Ctrl-C stops it.")
      try await diary.follow(recorders, uploads, commands)
    }
  }

  /// Returns what runs the command for the finished segments of the folder.
  private func commands(
    for folder: SegmentFolder, _ form: AudioDelivery, _ diary: RecordDiary, _ sink: SegmentUploads?
  ) async throws -> SegmentCommands? {
    guard var command else { return nil }
    command.sampleRate = form.sampleRate
    let commands = SegmentCommands(command) { news in
      await diary.note(news)
      guard case .succeeded(let segment) = news, let sink else { return }
      do {
        try sink.takeTranscript(of: segment)
      } catch {
        await diary.note(
          problem: "the transcript of segment \(segment.info.id) is not queued: \(Failure(error).message)")
      }
    }
    for entry in try SegmentCatalog(path: folder.path).entries { await commands.add(entry.segment) }
    return commands
  }

  /// Returns the queue's end of the recorder, if segments are uploaded, and has other programs know the folder.
  private func sink(
    for folder: SegmentFolder, _ form: AudioDelivery, _ diary: RecordDiary, _ terminal: Terminal
  ) async throws -> SegmentUploads? {
    let path = SegmentRequests.absolute(folder.path)
    guard let bucket else {
      // An earlier recording was uploaded; what it has left is queued, and this one stays here.
      if let items = try queue.openIfExists(), try items.sources().contains(where: { $0.folder == path }) {
        await SegmentSources(items).run(isRepeated: false) { await diary.note(problem: $0) }
        try items.forgetSource(path)
      }
      return nil
    }
    let items = try queue.open()
    let server = try store.server(items)
    if store.endpoint == nil { try insecure.check(server, terminal) }
    try items.remember(UploadServer(server))
    let source = UploadSource(
      folder: path, endpoint: server.url, bucket: bucket, prefix: prefix, account: store.account)
    let catalog = try SegmentCatalog(path: folder.path)
    for problem in catalog.problems { await diary.note(problem: problem.isNotQueued) }
    try items.remember(source)
    return SegmentUploads(
      store: items, folder: folder, requests: SegmentRequests(source: source, delivery: form),
      told: { await diary.note($0) })
  }
}
