import BlueZ
import Testing

/// An adapter that listens and advertises, and the same as a device at the other adapter.
struct ChannelPair: Sendable {
  static let service: BluetoothUUID = "c0c00001-c0c0-c0c0-c0c0-c0c0c0c00001"

  let host: Adapter
  let device: Device
  let advertisement: Advertisement

  /// Makes a pair, without a link, runs the body, and takes the link down.
  static func with(_ body: (ChannelPair) async throws -> Void) async throws {
    let pair = try await make()
    try await body(pair)
    if pair.device.isConnected { try await pair.device.disconnect() }
    try await pair.advertisement.stop()
  }

  private static func make() async throws -> ChannelPair {
    let guest = try await Radio.adapter(Radio.mac)
    let host = try await Radio.adapter(Radio.phone)
    // Not the link of an earlier channel: a bluetoothd that was restarted under it ends it 30 s after a scan has heard the
    // device (docs/bluez-versions.md).
    if let device = guest.device(host.address), device.isConnected { try await device.disconnect() }
    try await guest.awaitEnd(ofConnectionTo: host)
    let sightings = try await guest.discover(.init(services: [service]))
    let advertisement = try await host.advertise(.init(name: "channels", services: [service]))
    let device = try await sightings.firstDevice("the host's advertisement")
    return ChannelPair(host: host, device: device, advertisement: advertisement)
  }

  /// A channel, at both its ends.
  func open(
    mtu: Int = L2CAPChannel.defaultMTU, guestMTU: Int? = nil
  ) async throws -> (host: L2CAPChannel, guest: L2CAPChannel) {
    let listener = try host.listen(mtu: mtu)
    async let taken = listener.first { _ in true }
    let guest = try await device.openChannel(psm: listener.psm, mtu: guestMTU ?? mtu)
    return (try #require(try await taken), guest)
  }
}

/// Gives the tests of a suite one pair: a link takes seconds to end.
struct Paired: SuiteTrait, TestScoping {
  @TaskLocal static var pair: ChannelPair?

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await ChannelPair.with { pair in
      try await Self.$pair.withValue(pair) { try await function() }
    }
  }
}

extension Trait where Self == Paired {
  static var paired: Self { Self() }
}

/// Bytes that say where they belong, so that lost, doubled and swapped ones show.
enum Pattern {
  /// Two mebibytes; made in words, because a test build is slow with single bytes.
  private static let all: [UInt8] = (UInt64(0)..<(2 << 20) / 8).map { $0 &* 0x9e37_79b9_7f4a_7c15 }
    .withUnsafeBytes { Array($0) }

  static func bytes(_ range: Range<Int>) -> [UInt8] { Array(all[range]) }

  /// Sends the first so many bytes in packets.
  static func send(
    _ count: Int, to channel: L2CAPChannel, in size: Int, sent: @Sendable (Int) -> Void = { _ in }
  ) async throws {
    for start in stride(from: 0, to: count, by: size) {
      let end = min(start + size, count)
      try await channel.send(bytes(start..<end))
      sent(end)
    }
  }

  /// Reads as many bytes, and compares.
  static func expect(_ count: Int, from channel: L2CAPChannel) async throws {
    var got: [UInt8] = []
    for try await packet in channel.packets {
      got += packet
      if got.count >= count { break }
    }
    #expect(got.count == count)
    let isEqual = got == bytes(0..<count)
    #expect(isEqual)
  }
}
