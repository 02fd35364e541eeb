package import AudioIngest
package import AudioWearables
public import BlueZ
package import BlueZTesting
internal import Streams
internal import Timing

/// A fake BlueZ, with its adapters.
package struct FakeRadio {
  package let fake: FakeBlueZ
  package let adapters: [Adapter]

  package init(adapters count: Int = 2) async throws {
    fake = try await FakeBlueZ.start(adapters: count)
    var adapters: [Adapter] = []
    for index in 0..<count { adapters.append(try await fake.adapter(index)) }
    self.adapters = adapters
  }

  package func stop() async throws {
    for adapter in adapters { adapter.session.close() }
    try await fake.stop()
  }
}

/// A clock for a recorder that stands still, so that audio is never late and a device never silent on a slow machine.
///
/// The last frame is complete only when the recorder ends: the counters show what was received.
package final class StillTime: Sendable {
  private let moment: Lock<Moment>

  /// - Parameter moment: The moment at which it stands; now, unless a test needs the same one each time.
  package init(at moment: Moment = .now) { self.moment = Lock(moment) }

  package var now: Moment { moment.withLock { $0 } }

  package func pass(_ duration: Duration) {
    moment.withLock {
      $0.instant += duration
      $0.wallMs += duration.milliseconds(rounded: .toNearest)
    }
  }
}

extension WearableRecorder.Settings {
  /// Returns settings for a recorder whose clock a test moves, and that does not pair.
  package static func standing(
    _ time: StillTime, fetchesStored: Bool = true, timing: WearableRecorder.StoredTiming? = nil
  ) -> Self {
    var settings = Self(fetchesStored: fetchesStored, pairs: false)
    settings.now = { time.now }
    if let timing { settings.storedTiming = timing }
    return settings
  }
}

extension WearableRecorder {
  /// Waits until the recorder has received a number of notifications.
  package func waitForNotifications(_ notifications: Int) async throws {
    while await status().live?.counters.notifications != notifications {
      try await Task.sleep(for: .milliseconds(5), clock: .steady)
    }
  }
}

/// A wearable of the Omi family on an adapter, with a clock, a battery, perhaps stored audio, and frames on demand.
///
/// ```swift
/// let wearable = try await FakeWearable(on: adapter, codec: 0)
/// try await wearable.waitForSubscriber()
/// try await wearable.send([[UInt8](repeating: 0, count: 320)])
/// ```
public final class FakeWearable: Sendable {
  private let audio = LocalCharacteristic(OmiWearable.uuid(0x01), .notify)
  private let codec: Lock<UInt8>
  private let clock = Lock<[UInt8]?>(nil)
  private let sender = Lock(FakeSender(fragment: 500))
  private let kept = Lock<[any Sendable]>([])
  private let storage: Lock<(any FakeStore)?>
  private let commands = Counter()
  private let answers = BoundedStream.make(of: [UInt8].self, limit: 4096, policy: .dropNewest)
  /// The number of notifications of the store that are still sent.
  private let patience = Lock(Int.max)

  /// Registers the wearable's services with an adapter, and advertises them.
  /// - Parameters:
  ///   - adapter: The adapter, of a fake BlueZ or a real one.
  ///   - codec: The value of the codec characteristic.
  ///   - name: The device name and the model number.
  ///   - isGlass: A Boolean value that indicates whether the wearable has a camera and no clock.
  /// - Throws: `BlueZError`.
  public convenience init(
    on adapter: Adapter, codec: UInt8 = 0, name: String = "Omi", isGlass: Bool = false
  ) async throws {
    try await self.init(on: adapter, codec: codec, name: name, isGlass: isGlass, storing: nil)
  }

  package init(
    on adapter: Adapter, codec: UInt8 = 0, name: String = "Omi", isGlass: Bool = false, storing store: (any FakeStore)?
  ) async throws {
    self.codec = Lock(codec)
    storage = Lock(store)
    let camera = isGlass ? [LocalCharacteristic(OmiWearable.uuid(0x05), .notify)] : []
    var services = [
      LocalService(
        OmiWearable.uuid(0x00),
        characteristics: [
          audio,
          LocalCharacteristic(OmiWearable.uuid(0x02), .read, read: { [self] _ in [self.codec.withLock { $0 }] }),
        ] + camera),
      LocalService("180f", characteristics: [LocalCharacteristic("2a19", value: [87])]),
      LocalService("180a", characteristics: [LocalCharacteristic("2a24", value: Array(name.utf8))]),
    ]
    if !isGlass { services.append(clockService) }
    if store != nil { services.append(storageService()) }
    let application = try await adapter.offer(services)
    let advertisement = try await adapter.advertise(.init(name: name, services: [OmiWearable.uuid(0x00)]))
    kept.withLock { $0 = [application, advertisement] }
  }

  deinit { answers.source.finish() }

  private var clockService: LocalService {
    LocalService(
      OmiWearable.uuid(0x30),
      characteristics: [
        LocalCharacteristic(
          OmiWearable.uuid(0x31), .write, writes: .handler { [clock] request in clock.withLock { $0 = request.value } })
      ])
  }

  private func storageService() -> LocalService {
    let control = LocalCharacteristic(
      OmiWearable.Storage.control, [.write, .notify],
      writes: .handler { [storage, answers, commands] request in
        commands.increment()
        for answer in storage.withLock({ $0?.take(request.value) ?? [] }) { answers.source.yield(answer) }
      })
    let status = LocalCharacteristic(
      OmiWearable.Storage.status, .read, read: { [storage] _ in storage.withLock { $0?.status ?? [] } })
    Task { [answers = answers.stream, patience] in
      for await answer in answers where patience.withLock({ $0 }) > 0 {
        patience.withLock { $0 -= 1 }
        // Fails only when the subscriber has gone.
        do { try await control.notify(answer) } catch {}
      }
    }
    return LocalService(OmiWearable.Storage.service, characteristics: [control, status])
  }

  /// The present contents of the store.
  package var store: (any FakeStore)? { storage.withLock { $0 } }

  /// The number of commands that the store was sent.
  package var storeCommands: Int { commands.value }

  /// Limits the notifications that the store still sends.
  package func allow(_ notifications: Int) { patience.withLock { $0 = notifications } }

  /// The time that the clock was set to, in Unix seconds; `nil` if it was not set.
  public var time: Int? { clock.withLock { $0 }?.reversed().reduce(0) { $0 << 8 | Int($1) } }

  /// Changes the value of the codec characteristic.
  public func setCodec(_ codec: UInt8) { self.codec.withLock { $0 = codec } }

  /// A Boolean value that indicates whether a recorder has subscribed to the audio.
  package var isSubscribed: Bool { audio.isSubscribed }

  /// Waits until a recorder has subscribed to the audio.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func waitForSubscriber() async throws {
    while !isSubscribed { try await Task.sleep(for: .milliseconds(5), clock: .steady) }
  }

  /// Sends frames as fast as possible.
  /// - Throws: `BlueZError`.
  public func send(_ frames: [[UInt8]]) async throws {
    for frame in frames {
      for value in sender.withLock({ $0.notifications(frame) }) { try await audio.notify(value) }
    }
  }

  /// Changes the next packet number, as a restart of the device does.
  public func number(from number: UInt16) { sender.withLock { $0.number = number } }

  /// Skips packet numbers, as for frames that are lost.
  public func lose(_ frames: Int) { sender.withLock { $0.number &+= UInt16(frames) } }
}
