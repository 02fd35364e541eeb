import ArgumentParser
import AudioIngest
import BlueZ

/// `edgeblue record`
struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Record what a wearable hears, as WAV segments.",
    discussion: """
      Finds a wearable of the Omi family (or the one that is described), keeps the link to it for as long as it runs, \
      and writes what it sends into segments, each with a sidecar that says what is missing. What was heard is on disk \
      within a second; after a crash the next recorder finishes what was being written. Ctrl-C and SIGTERM finish the \
      open segment and end the link. In a terminal it shows how things stand, elsewhere what happens.

      \(Recordings.help) The wearable that was found first is remembered in it. `edgeblue segments` looks at what was \
      recorded, also meanwhile.

      What a wearable has stored while nobody listened is fetched beside the stream, and becomes segments of its own: \
      their time is that of the capture, and their sidecars name the pauses and gaps that they fill. The wearable is told \
      to free it once it is on this disk; --leave-stored leaves it there.

      With --upload each segment and its sidecar are queued as soon as they are finished, and uploaded as \
      ACCOUNT/DEVICE/DATE/NAME until the server has them (`edgeblue uploads`). They stay in the folder; once the server \
      has both, that is told, and they may go when room is needed.

      EXAMPLES
        edgeblue record
        edgeblue record --out recordings --keep speech
        edgeblue record --upload recordings --account ada
        edgeblue record --device FA:0B:00:00:00:01 --device FA:0B:00:00:00:02
        edgeblue record --json | jq 'select(.event == "segment") | .path'
        edgeblue record --service 180a --characteristic 2a29 --codec pcm8k
      """)

  @Option(
    help: ArgumentHelp(
      "The wearable; may be repeated to record several. Without it the one of the last time, else the first in sight.",
      valueName: "address"),
    transform: { text in
      guard let address = BluetoothAddress(text) else { throw ValidationError("'\(text)' is no Bluetooth address.") }
      return address
    })
  var device: [BluetoothAddress] = []
  @Flag(help: "Forget the wearable of the last time, and take the first in sight.") var forget = false
  @Flag(help: "Leave what the wearable has stored to another program: it is neither fetched nor freed.")
  var leaveStored = false
  @Option(help: ArgumentHelp("The folder to record into; it is made if it is not there.", valueName: "folder"))
  var out: String?
  @Option(name: .customLong("upload"), help: ArgumentHelp("The bucket to upload segments to.", valueName: "bucket"))
  var bucket: String?
  @Option(help: ArgumentHelp("What the keys of uploaded segments begin with.", valueName: "text")) var prefix = ""
  @OptionGroup(title: "Upload options") var queue: QueueOptions
  @OptionGroup(title: "Upload options") var store: StoreOptions
  @OptionGroup var rules: SegmentOptions
  @OptionGroup var wearable: WearableOptions
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    if forget, !device.isEmpty { throw ValidationError("Use either --device or --forget.") }
    if Set(device).count < device.count { throw ValidationError("--device names a wearable twice.") }
  }

  func run() async throws {
    try await common.run { terminal in
      let wearable = try wearable.wearable()
      let folder = try SegmentFolder(path: try Recordings.path(out), limits: rules.limits)
      if forget { try folder.forgetDevices() }
      let addresses: [BluetoothAddress?] = device.isEmpty ? [nil] : device
      let diary = RecordDiary(folder: folder, terminal, maximum: rules.rules.maximum, tracks: addresses.count)
      try await diary.recover()
      let sink = try bucket.map {
        SegmentUploads(
          store: try queue.open(), folder: folder, bucket: $0, prefix: prefix, account: store.account,
          told: { await diary.note($0) })
      }
      let uploads = try sink.map { try store.queue($0.store, disk: $0) }
      let radio = try await Radio.open(adapter, terminal)
      let recorders = addresses.map {
        WearableRecorder(
          wearable, at: radio.adapter, address: $0, into: folder, rules: rules.rules, sink: sink,
          fetchesStored: !leaveStored)
      }
      terminal.whisper("Recording with \(radio.title) into \(folder.path). Ctrl-C ends it.")
      try await diary.follow(recorders, uploads)
    }
  }
}
