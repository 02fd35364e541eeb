public import BlueZ
public import Streams

/// Comes to a wearable, keeps the link to it, and records what it sends, for as long as it is run.
///
/// ```swift
/// let folder = try SegmentFolder(path: "recordings")
/// let recorder = WearableRecorder(OmiWearable(), at: adapter, into: folder)
/// for await event in recorder.events() { … }   // in a task of its own
/// await recorder.run()                         // until it is cancelled
/// ```
///
/// Over lost links, restarts of bluetoothd and adapters that are pulled it begins anew, see ``LinkMachine``. Several may
/// record into one folder.
public final class WearableRecorder: Sendable {
  /// Something a person may want to know.
  public enum Event: Sendable, Hashable {
    /// The link stands elsewhere.
    case state(LinkMachine.State)
    /// Something happened to the segments.
    case recording(StreamRecorder.Event)
    /// What the device has stored begins to come, or no more of it comes for now.
    case stored(StoredStatus)
    /// Something failed, and is tried again.
    case problem(String)
  }

  /// What is heard.
  public struct Live: Sendable, Hashable {
    /// What the device encodes with.
    public var codec: AudioCodec
    /// What came from it.
    public var counters: StreamCounters
    /// How many samples are missing.
    public var missingSamples: Int
    /// How many samples the open segment has; `nil` when none is open.
    public var openSamples: Int?
    /// How loud the last 20 ms were, in dB of full scale.
    public var level: Double
    /// Whether somebody speaks in them.
    public var isSpeech: Bool
  }

  /// How things stand.
  public struct Status: Sendable, Hashable {
    /// Where the link stands.
    public var state = LinkMachine.State.idle
    /// Who is recorded, once it is known.
    public var device: AudioDevice?
    /// Which model it is, when that is known.
    public var model: String?
    /// How full its battery is, 0 to 100, when it tells.
    public var battery: Int?
    /// What is heard, once something was.
    public var live: Live?
    /// What the device has stored, once it was asked.
    public var stored: StoredStatus?

    /// Describes how things stand.
    public init(
      state: LinkMachine.State = .idle, device: AudioDevice? = nil, model: String? = nil, battery: Int? = nil,
      live: Live? = nil, stored: StoredStatus? = nil
    ) {
      (self.state, self.device, self.model, self.battery) = (state, device, model, battery)
      (self.live, self.stored) = (live, stored)
    }
  }

  /// What is known of the device.
  struct Memory: Sendable {
    var device: Device?
    var address: BluetoothAddress?
    /// What it was called when it was last there.
    var name: String?
    var profile = WearableProfile()
    var stored: StoredStatus?
  }

  let wearable: any Wearable
  let adapter: Adapter
  let folder: SegmentFolder
  let feed: RecordingFeed
  let link: Lock<LinkMachine>
  let memory: Lock<Memory>
  let stored: StoredKeeper
  /// Whether what the device has stored is fetched.
  let fetchesStored: Bool
  let storedTiming: StoredTiming
  /// What time it is.
  let now: @Sendable () -> Moment
  /// Whether nobody has named the device.
  let isChosenHere: Bool
  private let sink: (any SegmentSink)?
  private let listeners: Lock<[BoundedStream<Event>.Source]>
  private let finished: (stream: BoundedStream<FinishedSegment>, source: BoundedStream<FinishedSegment>.Source)

  /// Describes a recording; ``run()`` begins it.
  /// - Parameters:
  ///   - wearable: the kind of device.
  ///   - adapter: which radio.
  ///   - address: the device; without one that of the kind which was recorded in this folder last, else the first that
  ///     is found, and then always that one.
  ///   - folder: where segments go.
  ///   - rules: what is kept, and where it is cut.
  ///   - sink: who takes finished segments over.
  ///   - fetchesStored: whether what the device has stored, while nobody listened, is fetched, too, and freed there.
  public convenience init(
    _ wearable: any Wearable, at adapter: Adapter, address: BluetoothAddress? = nil, into folder: SegmentFolder,
    rules: SegmentRules = SegmentRules(), sink: (any SegmentSink)? = nil, fetchesStored: Bool = true
  ) {
    self.init(
      wearable, at: adapter, address: address, into: folder, rules: rules, sink: sink, fetchesStored: fetchesStored,
      now: { .now })
  }

  init(
    _ wearable: any Wearable, at adapter: Adapter, address: BluetoothAddress? = nil, into folder: SegmentFolder,
    rules: SegmentRules = SegmentRules(), sink: (any SegmentSink)? = nil, fetchesStored: Bool = true,
    storedTiming: StoredTiming = StoredTiming(), now: @escaping @Sendable () -> Moment
  ) {
    (self.wearable, self.adapter, self.folder, self.sink) = (wearable, adapter, folder, sink)
    (self.fetchesStored, self.storedTiming, self.now) = (fetchesStored, storedTiming, now)
    let (listeners, finished) = (
      Lock<[BoundedStream<Event>.Source]>([]),
      BoundedStream.make(of: FinishedSegment.self, limit: 64, policy: .dropNewest)
    )
    (self.listeners, self.finished) = (listeners, finished)
    let tell: @Sendable (Event) -> Void = { event in
      if case .recording(.finished(let segment)) = event { finished.source.yield(segment) }
      for listener in listeners.withLock({ $0 }) { listener.yield(event) }
    }
    let feed = RecordingFeed(folder, wearable.framing, rules, now: now, tell: tell)
    stored = StoredKeeper(folder, rules, openSegment: { await feed.openSegment }, tell: tell)
    self.feed = feed
    link = Lock(LinkMachine())
    memory = Lock(Memory(address: address))
    isChosenHere = address == nil
  }

  /// What happens from now on; the oldest go when the reader is more than `limit` behind.
  public func events(limit: Int = 256) -> BoundedStream<Event> {
    let (stream, source) = BoundedStream.make(of: Event.self, limit: limit)
    listeners.withLock { $0.append(source) }
    return stream
  }

  /// How things stand now.
  public func status() async -> Status {
    let memory = self.memory.withLock { $0 }
    let (device, profile) = (memory.device, memory.profile)
    return Status(
      state: link.withLock { $0.state },
      device: memory.address.map { AudioDevice(address: $0.description, name: device?.name ?? memory.name) },
      model: profile.model,
      battery: profile.tellsBattery ? device?.batteryLevel : nil, live: await feed.live, stored: memory.stored)
  }

  func tell(_ event: Event) {
    for listener in listeners.withLock({ $0 }) { listener.yield(event) }
  }

  /// Records until the task is cancelled; then the open segment is finished and the link ended.
  /// - Throws: `SystemCallError` when no thread can be started; ``AudioIngestError`` with code `.storage` or `.damagedFile` when
  ///   the folder cannot be read.
  public func run() async throws {
    defer { for listener in listeners.withLock({ $0 }) { listener.finish() } }
    if isChosenHere, let known = try folder.rememberedDevice(wearable) { memory.withLock { $0.address = known } }
    // Looked for before there are new ones.
    let earlier = sink == nil ? [] : try SegmentCatalog(path: folder.path).entries.filter { !$0.isDelivered }
    let thread = try RecordingThread()
    await withTaskExecutorPreference(thread.executor) {
      await withTaskGroup { group in
        group.addTask { await self.deliver(earlier.map(\.segment)) }
        await self.record()
        self.finished.source.finish()
      }
    }
    withExtendedLifetime(thread) {}
  }

  /// Hands finished segments on, in order: first those that an earlier run has left undelivered.
  private func deliver(_ earlier: [FinishedSegment]) async {
    for segment in earlier { await deliver(segment) }
    for await segment in finished.stream { await deliver(segment) }
  }

  private func deliver(_ segment: FinishedSegment) async {
    do {
      try await sink?.take(segment)
    } catch {
      tell(.problem("segment \(segment.info.id) was not taken over: \(error)"))
    }
  }
}
