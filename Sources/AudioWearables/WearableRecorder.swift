public import AudioIngest
public import BlueZ
public import Streams
internal import Timing

/// A recorder that finds a wearable, keeps the connection to it, and records its audio for as long as it runs.
///
/// ```swift
/// let folder = try SegmentFolder(path: "recordings")
/// let recorder = WearableRecorder(OmiWearable(), at: adapter, into: folder)
/// let events = recorder.events()
/// let printing = Task { for await event in events { print(event) } }
/// try await recorder.run()  // until its task is cancelled
/// await printing.value
/// ```
///
/// After a lost connection, a restart of bluetoothd or a removed adapter it starts again, see ``ConnectionMachine``.
/// Several recorders may share a folder.
public final class WearableRecorder: Sendable {
  /// An event of a recorder, for display or for further processing.
  public enum Event: Sendable, Hashable {
    /// The connection has changed its state.
    case state(ConnectionMachine.State)
    /// A segment was opened, finished or dropped, or the disk failed.
    case recording(StreamRecorder.Event)
    /// The transfer of the device's stored audio has started or ended.
    case stored(StoredStatus)
    /// An operation failed, and will be retried; the message is for display.
    case problem(String)
  }

  /// The values of the live stream.
  public struct Live: Sendable, Hashable {
    /// The codec of the stream.
    public var codec: AudioCodec
    /// The counters of the packets and frames received.
    public var counters: StreamCounters
    /// The number of samples that are missing.
    public var missingSamples: Int
    /// The number of samples in the open segment; `nil` if none is open.
    public var openSamples: Int?
    /// The level of the last 20 ms, in dBFS: −120…0.
    public var level: Double
    /// A Boolean value that indicates whether the last 20 ms contain speech.
    public var isSpeech: Bool
  }

  /// The status of a recorder at one instant.
  public struct Status: Sendable, Hashable {
    /// The state of the connection.
    public var state = ConnectionMachine.State.idle
    /// The recorded device, if it is known.
    public var device: AudioDevice?
    /// The model of the device, if it is known.
    public var model: String?
    /// The battery level in percent, 0…100, if the device reports it.
    public var battery: Int?
    /// The values of the live stream, once audio has arrived.
    public var live: Live?
    /// The progress of the transfer of stored audio, once it was requested.
    public var stored: StoredStatus?

    /// Creates a status from its values.
    public init(
      state: ConnectionMachine.State = .idle, device: AudioDevice? = nil, model: String? = nil, battery: Int? = nil,
      live: Live? = nil, stored: StoredStatus? = nil
    ) {
      self.state = state
      self.device = device
      self.model = model
      self.battery = battery
      self.live = live
      self.stored = stored
    }
  }

  /// The settings of a recorder.
  ///
  /// ```swift
  /// let settings = WearableRecorder.Settings(rules: SegmentRules(mode: .speech), fetchesStored: false)
  /// print(settings.rules.silence)
  /// ```
  public struct Settings: Sendable {
    /// The rules for what is kept, and where it is cut.
    public var rules: SegmentRules
    /// A Boolean value that indicates whether audio that the device stored while not connected is fetched, and freed there.
    public var fetchesStored: Bool
    /// A Boolean value that indicates whether the recorder pairs with the device at the first connection, and afterwards
    /// records nothing from a connection without the keys.
    ///
    /// A device that does not pair is recorded all the same, and reported as a problem.
    public var pairs: Bool
    /// The timeout after the recording for passing the last segments to the sink; 10 s by default.
    ///
    /// What the sink has not accepted by then is offered again by the next recorder.
    public var deliveryLimit = Duration.seconds(10)
    package var storedTiming = StoredTiming()
    /// A closure that returns the present moment.
    package var now: @Sendable () -> Moment = { .now }
    /// The agent that answers for this host while it pairs.
    package var pairingAgent = PairingAgent()
    /// A closure that returns the connections of an adapter as the kernel knows them.
    package var connections: @Sendable (Adapter) throws -> [ConnectionInfo] = { try $0.connections() }

    /// Creates settings, by default to keep all audio, to fetch stored audio, and to pair.
    public init(rules: SegmentRules = SegmentRules(), fetchesStored: Bool = true, pairs: Bool = true) {
      self.rules = rules
      self.fetchesStored = fetchesStored
      self.pairs = pairs
    }
  }

  /// The knowledge about the device.
  struct Memory: Sendable {
    var device: Device?
    var address: BluetoothAddress?
    /// The name that the device had when it was last connected.
    var name: String?
    var profile = WearableProfile()
    var stored: StoredStatus?
    /// A Boolean value that indicates whether it was reported that the device cannot pair.
    var isWarned = false
  }

  let wearable: any Wearable
  let adapter: Adapter
  let folder: SegmentFolder
  let settings: Settings
  let feed: RecordingFeed
  let connection = Lock(ConnectionMachine())
  let memory: Lock<Memory>
  let stored: StoredKeeper
  /// A Boolean value that indicates whether the recorder chooses the device.
  let choosesDevice: Bool
  private let sink: (any SegmentSink)?
  private let output = RecorderOutput()

  /// Creates a recorder; ``run()`` starts it.
  /// - Parameters:
  ///   - wearable: The kind of device.
  ///   - adapter: The adapter to connect with.
  ///   - address: The address of the device; `nil` for the first device of the kind that is stored in the folder, or else
  ///     the first one found, which is then stored. Anybody in range can be found first: name the device where you can.
  ///   - folder: The folder for the segments.
  ///   - settings: The rules for what is kept, and for stored audio.
  ///   - sink: The receiver of finished segments.
  public init(
    _ wearable: any Wearable, at adapter: Adapter, address: BluetoothAddress? = nil, into folder: SegmentFolder,
    settings: Settings = Settings(), sink: (any SegmentSink)? = nil
  ) {
    self.wearable = wearable
    self.adapter = adapter
    self.folder = folder
    self.settings = settings
    self.sink = sink
    let feed = RecordingFeed(folder, wearable.framing, settings.rules, now: settings.now, output: output)
    self.feed = feed
    stored = StoredKeeper(
      folder, settings.rules, openSegment: { await feed.openSegment }, deliver: { [output] in output.deliver($0) })
    memory = Lock(Memory(address: address))
    choosesDevice = address == nil
  }

  /// Returns a stream of the events from now on; the oldest are dropped when more than `limit` wait.
  public func events(limit: Int = 256) -> BoundedStream<Event> { output.subscribe(limit: limit) }

  /// Returns the present status of the recorder.
  public func status() async -> Status {
    let memory = self.memory.withLock { $0 }
    return Status(
      state: connection.withLock { $0.state },
      device: memory.address.map { AudioDevice(address: $0.description, name: memory.device?.name ?? memory.name) },
      model: memory.profile.model,
      battery: memory.profile.reportsBattery ? memory.device?.batteryLevel : nil, live: await feed.live,
      stored: memory.stored)
  }

  /// Publishes an event to the subscribers.
  func publish(_ event: Event) { output.publish(event) }

  /// Records until the task is cancelled; then the open segment is finished, the device disconnected, and the last segment
  /// passed to the sink.
  /// - Throws: `SystemCallError` if no thread can be started; `AudioIngestError` with code `.storage` or `.damagedFile` if
  ///   the folder cannot be read.
  public func run() async throws {
    defer { output.endEvents() }
    if choosesDevice, let known = try folder.wearables(of: wearable).first {
      memory.withLock { $0.address = known.address }
    }
    // Listed before this run adds segments.
    let earlier = sink == nil ? [] : try SegmentCatalog(path: folder.path).entries.filter { !$0.isDelivered }
    let thread = try ExecutorThread(named: "recording")
    await withTaskExecutorPreference(thread.executor) {
      // No child of this task: the last segments are finished, and passed on, after its cancellation.
      let delivery = Task(executorPreference: thread.executor) { await self.passOn(earlier.map(\.segment)) }
      await self.record()
      self.output.endSegments()
      let limit = Task { [limit = settings.deliveryLimit] in
        // Cancelled when all are passed on.
        do { try await Task.sleep(for: limit, clock: .steady) } catch { return }
        delivery.cancel()
      }
      await delivery.value
      limit.cancel()
    }
    withExtendedLifetime(thread) {}
  }

  /// Passes finished segments to the sink, in order: first those that an earlier run has left undelivered.
  private func passOn(_ earlier: [FinishedSegment]) async {
    for segment in earlier { await passOn(segment) }
    for await segment in output.segments { await passOn(segment) }
  }

  private func passOn(_ segment: FinishedSegment) async {
    do {
      try await sink?.take(segment)
    } catch is CancellationError {
      publish(.problem("segment \(segment.info.id) was not passed on in time; the next recorder offers it again"))
    } catch {
      publish(.problem("the sink did not accept segment \(segment.info.id): \(error)"))
    }
  }
}
