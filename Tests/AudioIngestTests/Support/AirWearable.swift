import BlueZ
import BlueZTesting
import Streams
import Timing

@testable import AudioIngest

/// A fake BlueZ, and its adapters as a program has each of them.
struct Air {
  let fake: FakeBlueZ
  let adapters: [Adapter]

  init(adapters count: Int = 2) async throws {
    fake = try await FakeBlueZ.start(adapters: count)
    var adapters: [Adapter] = []
    for index in 0..<count { adapters.append(try await fake.adapter(index)) }
    self.adapters = adapters
  }

  func stop() async throws {
    for adapter in adapters { adapter.session.close() }
    try await fake.stop()
  }
}

/// What time it is for a recorder: it stands still, so that audio is never late and a device never silent, however slow
/// the machine is. A last frame is whole only when the recorder ends: what was heard shows in the counters.
final class StillTime: Sendable {
  private let moment = Lock(Moment.now)

  var now: Moment { moment.withLock { $0 } }

  func pass(_ duration: Duration) {
    moment.withLock {
      $0.instant += duration
      $0.wallMs += duration.wholeMilliseconds
    }
  }
}

extension WearableRecorder {
  /// Returns when so many notifications came of the stream.
  func hear(_ notifications: Int) async throws {
    while await status().live?.counters.notifications != notifications {
      try await Task.sleep(for: .milliseconds(5), clock: .steady)
    }
  }
}

/// A wearable of the Omi family on an adapter of a fake BlueZ: it has a time, a battery, perhaps a store, and sends what it
/// is told.
final class AirWearable: Sendable {
  private let audio = LocalCharacteristic(OmiWearable.uuid(0x01), .notify)
  private let codec: Lock<UInt8>
  private let clock = Lock<[UInt8]?>(nil)
  private let sender = Lock(FakeSender(fragment: 500))
  private let kept = Lock<[any Sendable]>([])
  private let storage: Lock<(any FakeStore)?>
  private let answers = BoundedStream.make(of: [UInt8].self, limit: 4096, policy: .dropNewest)
  /// How many notifications of its store it sends before it stands still.
  private let patience = Lock(Int.max)

  /// - Parameters:
  ///   - codec: as the characteristic tells it.
  ///   - isGlass: whether it has a camera, and no clock.
  ///   - store: what it has stored.
  init(
    on adapter: Adapter, codec: UInt8 = 0, name: String = "Omi", isGlass: Bool = false, store: (any FakeStore)? = nil
  ) async throws {
    (self.codec, storage) = (Lock(codec), Lock(store))
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
      writes: .handler { [storage, answers] request in
        for answer in storage.withLock({ $0?.take(request.value) ?? [] }) { answers.source.yield(answer) }
      })
    let status = LocalCharacteristic(
      OmiWearable.Storage.status, .read, read: { [storage] _ in storage.withLock { $0?.status ?? [] } })
    Task { [answers = answers.stream, patience] in
      for await answer in answers where patience.withLock({ $0 }) > 0 {
        patience.withLock { $0 -= 1 }
        // Nobody listens any more, when that throws.
        do { try await control.notify(answer) } catch {}
      }
    }
    return LocalService(OmiWearable.Storage.service, characteristics: [control, status])
  }

  /// What it has stored now.
  var store: (any FakeStore)? { storage.withLock { $0 } }

  /// Lets its store send so many notifications, and no more.
  func allow(_ notifications: Int) { patience.withLock { $0 = notifications } }

  /// What it was told of the time, in Unix seconds.
  var time: Int? { clock.withLock { $0 }?.reversed().reduce(0) { $0 << 8 | Int($1) } }

  /// Changes what it says of its codec.
  func lie(_ codec: UInt8) { self.codec.withLock { $0 = codec } }

  /// Returns when somebody listens.
  func waitForListener() async throws {
    while !audio.isSubscribed { try await Task.sleep(for: .milliseconds(5), clock: .steady) }
  }

  /// Sends frames as fast as they go.
  func send(_ frames: [[UInt8]]) async throws {
    for frame in frames {
      for value in sender.withLock({ $0.notifications(frame) }) { try await audio.notify(value) }
    }
  }

  /// Begins anew to number what it sends, as a device does that was switched off.
  func number(from number: UInt16) { sender.withLock { $0.number = number } }

  /// Numbers frames that nobody will hear.
  func lose(_ frames: Int) { sender.withLock { $0.number &+= UInt16(frames) } }
}
