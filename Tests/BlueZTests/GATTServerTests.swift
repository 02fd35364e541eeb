import DBus
import Glibc
import Streams
import Testing

@testable import BlueZ

@Suite("The GATT server's values and sockets, without a bus") struct GATTServerTests {
  private func peer(_ number: Int) -> Peer { Peer(path: ObjectPath(stringLiteral: "/org/bluez/hci0/dev_\(number)")) }

  /// Returns the next packet of a socket without blocking a thread, which the sender needs.
  private func packet(from end: FileDescriptor) async throws -> [UInt8] {
    while true {
      var packet = [UInt8](repeating: 0, count: 8)
      let count = end.withNumber { recv($0, &packet, packet.count, Int32(MSG_DONTWAIT)) } ?? 0
      if count >= 0 { return Array(packet.prefix(count)) }
      guard errno == EAGAIN else { throw BlueZError(.failed, String(cString: strerror(errno))) }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Reads like a central, which continues as long as it receives MTU − 1 bytes.
  private func readAll(_ reads: inout LongReads, _ peer: Peer, mtu: Int, _ value: () -> [UInt8]) throws -> [UInt8] {
    var got: [UInt8] = []
    while true {
      let whole = reads.value(for: peer, at: got.count) ?? value()
      let piece = Array(try reads.piece(of: whole, for: peer, at: got.count, mtu: mtu).prefix(mtu - 1))
      got += piece
      if piece.count < mtu - 1 { return got }
    }
  }

  @Test(
    "A long read returns parts of one value, even if that changes meanwhile",
    arguments: [0, 1, 21, 22, 23, 44, 511, 512, 513, 600], [23, 185, 517])
  func aLongReadIsOfOneValueWhateverBecomesOfIt(_ size: Int, _ mtu: Int) throws {
    var reads = LongReads()
    var version: UInt8 = 0
    let got = try readAll(&reads, peer(1), mtu: mtu) {
      version += 1
      return [UInt8](repeating: version, count: size)
    }
    #expect(got == [UInt8](repeating: 1, count: min(size, 512)))
    #expect(version == 1)
    // A value that was read to its end is not kept.
    #expect(reads.value(for: peer(1), at: 1) == nil)
  }

  @Test("Each central's long read has a snapshot of its own") func twoCentralsReadTwoValues() throws {
    var reads = LongReads()
    let a = [UInt8](repeating: 1, count: 100)
    let b = [UInt8](repeating: 2, count: 100)
    _ = try reads.piece(of: a, for: peer(1), at: 0, mtu: 23)
    _ = try reads.piece(of: b, for: peer(2), at: 0, mtu: 23)
    #expect(reads.value(for: peer(1), at: 22) == a)
    #expect(reads.value(for: peer(2), at: 22) == b)
    #expect(throws: AttributeRefusal.invalidOffset) { try reads.piece(of: a, for: peer(1), at: 101, mtu: 23) }
    #expect(try reads.piece(of: a, for: peer(1), at: 100, mtu: 23).isEmpty)
  }

  @Test("The snapshots of centrals that stop reading are discarded") func centralsThatNeverReadOnAreForgotten() throws {
    var reads = LongReads()
    for number in 0...LongReads.limit {
      _ = try reads.piece(of: [UInt8](repeating: 7, count: 100), for: peer(number), at: 0, mtu: 23)
    }
    #expect(reads.value(for: peer(0), at: 22) == nil)
    #expect(reads.value(for: peer(1), at: 22) != nil)
    #expect(reads.value(for: peer(LongReads.limit), at: 22) != nil)
  }

  @Test("Included services are registered first, and once") func includedServicesComeFirstAndOnce() {
    let battery = LocalService("180f", isPrimary: false, characteristics: [])
    let info = LocalService("180a", includes: [battery], characteristics: [])
    let pulse = LocalService("180d", includes: [info, battery], characteristics: [])
    #expect([pulse, info].withIncluded.map(\.uuid) == ["180f", "180a", "180d"])
  }

  @Test("An indication is confirmed when all remaining centrals have confirmed")
  func anIndicationIsConfirmedByAllWhoStay() {
    var confirmations = Confirmations(of: [1, 2, 3])
    #expect(confirmations.handle(.confirmed(1)) == .wait)
    #expect(confirmations.handle(.confirmed(1)) == .wait)
    #expect(confirmations.handle(.left(2)) == .wait)
    #expect(confirmations.handle(.confirmed(3)) == .finish)
    var lonely = Confirmations(of: [1, 2])
    #expect(lonely.handle(.left(1)) == .wait)
    #expect(lonely.handle(.left(2)) == .fail)
    var anonymous = Confirmations(of: [1])
    #expect(anonymous.handle(.confirmed(nil)) == .finish)
  }

  /// From 5.80 on bluetoothd sends a byte for each confirmation.
  @Test("An indication waits for the confirmation byte of each central", .timeLimit(.minutes(5)))
  func anIndicationWaitsForTheByteOfEachCentral() async throws {
    let characteristic = LocalCharacteristic("2a05", .indicate)
    await #expect { try await characteristic.indicate([1]) } throws: { ($0 as? BlueZError)?.code == .notConnected }
    let ends = [
      try characteristic.acquireNotify(peer(1), mtu: 23), try characteristic.acquireNotify(peer(2), mtu: 517),
    ]
    #expect(characteristic.longestNotification == 20)
    async let done: Void = characteristic.indicate([42], timeout: .seconds(30))
    for (number, end) in ends.enumerated() {
      #expect(try await packet(from: end) == [42])
      if number == 0 {
        await #expect { try await characteristic.indicate([1]) } throws: { ($0 as? BlueZError)?.code == .inProgress }
      }
      _ = end.withNumber { send($0, [1], 1, 0) }
    }
    try await done
    characteristic.state.withLock { $0.version = BlueZRelease(5, 75) }
    await #expect { try await characteristic.indicate([1]) } throws: { ($0 as? BlueZError)?.code == .notSupported }
    for end in ends { end.close() }
  }
}
