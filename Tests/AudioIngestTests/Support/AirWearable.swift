import BlueZ
import BlueZTesting
import DBus

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

/// A wearable of the Omi family on an adapter of a fake BlueZ: it has a time, a battery, and sends what it is told.
final class AirWearable: Sendable {
  private let audio = LocalCharacteristic(OmiWearable.uuid(0x01), .notify)
  private let codec: Lock<UInt8>
  private let clock = Lock<[UInt8]?>(nil)
  private let sender = Lock(FakeSender(fragment: 500))
  private let kept = Lock<[any Sendable]>([])

  /// - Parameter codec: as the characteristic tells it.
  init(on adapter: Adapter, codec: UInt8 = 0) async throws {
    self.codec = Lock(codec)
    let services = [
      LocalService(
        OmiWearable.uuid(0x00),
        characteristics: [
          audio,
          LocalCharacteristic(OmiWearable.uuid(0x02), .read, read: { [self] _ in [self.codec.withLock { $0 }] }),
        ]),
      LocalService(
        OmiWearable.uuid(0x30),
        characteristics: [
          LocalCharacteristic(
            OmiWearable.uuid(0x31), .write, writes: .handler { [self] request in clock.withLock { $0 = request.value } }
          )
        ]),
      LocalService("180f", characteristics: [LocalCharacteristic("2a19", value: [87])]),
    ]
    let application = try await adapter.offer(services)
    let advertisement = try await adapter.advertise(.init(name: "Omi", services: [OmiWearable.uuid(0x00)]))
    kept.withLock { $0 = [application, advertisement] }
  }

  /// What it was told of the time, in Unix seconds.
  var time: Int? { clock.withLock { $0 }?.reversed().reduce(0) { $0 << 8 | Int($1) } }

  /// Changes what it says of its codec, on the next link.
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

  /// Numbers frames that nobody will hear.
  func lose(_ frames: Int) { sender.withLock { $0.number &+= UInt16(frames) } }
}
