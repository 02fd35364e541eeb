import BlueZ
import Glibc
import Testing

/// Notifications between two EdgeBlue ends: none is missed at the beginning, and none is lost unseen under load.
extension RadioTests {
  @Suite("Notifications") struct NotificationTests {
    static let service: BluetoothUUID = "ec0d0401-ec0d-ec0d-ec0d-ec0d0401ec0d"
    static let source: BluetoothUUID = "ec0d0402-ec0d-ec0d-ec0d-ec0d0402ec0d"

    /// Offers a characteristic at one adapter and finds it from the other.
    private func withLink(
      _ body: @escaping @Sendable (LocalCharacteristic, GATTApplication, Device) async throws -> Void
    ) async throws {
      let central = try await Radio.adapter(Radio.mac)
      let peripheral = try await Radio.adapter(Radio.phone)
      // bluetoothd 5.82 goes on listing the services that it has read from this adapter (docs/bluez-versions.md).
      try await central.device(peripheral.address)?.remove()
      let sightings = try await central.discover(.init(services: [Self.service]))
      let local = LocalCharacteristic(Self.source, .notify)
      let application = try await peripheral.offer([LocalService(Self.service, characteristics: [local])])
      let advertisement = try await peripheral.advertise(.init(services: [Self.service]))
      let device = try await sightings.firstDevice("the advertisement")
      try await device.connect()
      try await body(local, application, device)
      try await device.disconnect()
      try await advertisement.stop()
      try await application.unregister()
    }

    private static func value(_ number: Int, _ size: Int) -> [UInt8] {
      [UInt8(number & 0xff), UInt8(number >> 8)] + [UInt8](repeating: 0xee, count: size - 2)
    }

    private static func kept(of count: Int, _ limit: Int, _ overflow: Notifications.Overflow) -> [Int] {
      switch overflow {
      case .fail: Array(0..<count)
      case .dropOldest: [0] + Array(count - limit..<count)
      case .dropNewest: Array(0...limit)
      }
    }

    /// Waits until a number of values has arrived.
    private func arrived(_ count: Int, of values: Notifications) async throws {
      guard values.received < count else { return }
      try await bounded(.seconds(60), "value \(count)") {
        while values.received < count { try await Task.sleep(for: .milliseconds(5)) }
      }
    }

    private static func number(_ value: [UInt8]) -> Int { Int(value[0]) | Int(value[1]) << 8 }

    /// The largest number of values under way: bluetoothd's socket holds 167 of 244 bytes and drops more, which it would
    /// do when the machine runs it and not this process.
    private static let window = 100

    /// Two thousand values of 244 bytes are twelve times what bluetoothd's socket holds.
    @Test("A stalled reader of notifications loses nothing without a count", .timeLimit(.minutes(5)))
    func aStalledConsumerLosesNothingUnseen() async throws {
      try await withLink { local, _, device in
        let remote = try device.characteristic(Self.source, in: Self.service)
        let count = 2000
        for (limit, overflow) in [(count, Notifications.Overflow.fail), (500, .dropOldest), (500, .dropNewest)] {
          // The round before may still be known as a subscriber.
          try await bounded(.seconds(30), "the end of the subscription before") {
            while local.isSubscribed { try await Task.sleep(for: .milliseconds(20)) }
          }
          let subscriptions = local.subscriptions()
          let values = try await remote.notifications(limit: limit, overflow: overflow)
          // bluetoothd has answered the central before it tells the peripheral.
          try await bounded(.seconds(30), "the subscription") {
            for await case .subscribed in subscriptions { return }
          }
          var iterator = values.makeAsyncIterator()
          try await local.notify(Self.value(0, 244))
          let first = try await iterator.next()
          #expect(first == Self.value(0, 244))
          // Nobody reads until all have come; nor may the thread that would.
          for number in 1..<count {
            try await arrived(number - Self.window, of: values)
            try await local.notify(Self.value(number, 244))
          }
          try await arrived(count, of: values)
          usleep(1_000_000)
          #expect(values.dropped == (limit == count ? 0 : count - 1 - limit))
          var numbers = [0]
          while numbers.count + values.dropped < count, let value = try await iterator.next() {
            numbers.append(Self.number(value))
          }
          #expect(numbers == Self.kept(of: count, limit, overflow), "\(overflow)")
        }
      }
    }

    /// A value sent the moment a central subscribes arrives, also when it unsubscribed only just before.
    @Test("The first value after a subscription arrives", .timeLimit(.minutes(5)))
    func theFirstValueIsNotMissed() async throws {
      try await withLink { local, application, device in
        let remote = try device.characteristic(Self.source, in: Self.service)
        let greeter = Task {
          var number = 0
          for await case .subscribed in local.subscriptions() {
            try await local.notify(Self.value(number, 20))
            number += 1
          }
        }
        for number in 0..<20 {
          let values = try await remote.notifications()
          let first = try await bounded(.seconds(10), "value \(number)") { try await values.first { _ in true } }
          #expect(first == Self.value(number, 20))
        }
        greeter.cancel()
        _ = await greeter.result

        // A service that is added later is found without a new link, and nobody loses a subscription.
        let values = try await remote.notifications()
        let added = LocalService("180a", characteristics: [LocalCharacteristic("2a29", value: Array("EdgeBlue".utf8))])
        try await application.add([added])
        let maker = try await bounded(.seconds(20), "the added service") {
          while true {
            do {
              return try await device.characteristic("2a29", in: "180a").read()
            } catch let error as BlueZError where error.code == .notSupported {
              try await Task.sleep(for: .milliseconds(50))
            }
          }
        }
        #expect(maker == Array("EdgeBlue".utf8))
        try await local.notify(Self.value(77, 20))
        #expect(try await values.first { _ in true } == Self.value(77, 20))
        try await application.remove(added)
      }
    }
  }
}
