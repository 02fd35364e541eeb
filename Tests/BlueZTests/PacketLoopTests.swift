import Foundation
import Streams
import Testing

@testable import BlueZ

@Suite("The wait for a socket that its user reads") struct PacketLoopTests {
  private let loop: PacketLoop
  private let near: FileDescriptor
  private let far: FileDescriptor
  private let id: Int

  init() throws {
    loop = try PacketLoop.shared()
    (near, far) = try PacketSocket.pair()
    let number = try #require(near.withNumber { $0 })
    id = loop.add(PacketLoop.Entry(number: number, descriptor: near, receiver: nil))
  }

  private func send(_ byte: UInt8) { _ = far.withNumber { Foundation.send($0, [byte], 1, 0) } }

  @Test("A wait for reading ends when a packet arrives", .timeLimit(.minutes(5)))
  func aWaitEndsWhenThereIsSomethingToRead() async throws {
    async let isHere = loop.wait(id, for: .reading)
    send(1)
    #expect(await isHere)
    #expect(await loop.wait(id, for: .writing))
    loop.remove(id)
  }

  @Test("A wait for reading ends when the peer closes the socket", .timeLimit(.minutes(5)))
  func aWaitEndsWhenTheOtherEndIsGone() async throws {
    async let isHere = loop.wait(id, for: .reading)
    far.close()
    #expect(await isHere)
    loop.remove(id)
  }

  @Test("A wait ends when the socket is removed from the loop", .timeLimit(.minutes(5)))
  func aWaitEndsWhenTheSocketIsRemoved() async throws {
    async let isHere = loop.wait(id, for: .reading)
    loop.remove(id)
    #expect(await !isHere)
    #expect(await !loop.wait(id, for: .reading))
  }

  /// The wait is cancelled before it starts, during it, and in between.
  @Test("A cancelled wait ends at once", .timeLimit(.minutes(5)), arguments: 0..<50)
  func aCancelledWaitEnds(_ round: Int) async throws {
    let loop = loop
    let id = id
    let waiting = Task { await loop.wait(id, for: .reading) }
    for _ in 0..<round { await Task.yield() }
    waiting.cancel()
    #expect(await waiting.value)
    loop.remove(id)
  }

  /// The thread has nothing to do for a closed socket without waiting tasks.
  @Test("A closed socket without waiting tasks costs no CPU time", .timeLimit(.minutes(5)))
  func aClosedSocketCostsNothing() async throws {
    far.close()
    #expect(await loop.wait(id, for: .reading))
    let before = try Self.ticksOfTheThread()
    try await ContinuousClock().sleep(for: .milliseconds(300))
    // A tick is 10 ms; a thread that does not sleep takes 30 of them.
    #expect(try Self.ticksOfTheThread() - before < 8)
    loop.remove(id)
  }

  /// The peer closes after the thread has started to read, which is no empty value.
  @Test("The end of a socket is not delivered as an empty value", .timeLimit(.minutes(5)))
  func theEndIsNoValue() async throws {
    let (packets, source) = BoundedStream.make(of: [UInt8].self, limit: 8)
    let (ours, theirs) = try PacketSocket.pair()
    let socket = try PacketSocket(
      owning: ours,
      onPacket: { packet in
        source.yield(packet)
        theirs.close()
      }, onClose: { source.finish() })
    #expect(theirs.withNumber { Foundation.send($0, [1], 1, 0) } == 1)
    var all: [[UInt8]] = []
    for await packet in packets { all.append(packet) }
    #expect(all == [[1]])
    socket.close()
  }

  private static func ticksOfTheThread() throws -> Int {
    let folder = "/proc/self/task"
    let stat = try FileManager.default.contentsOfDirectory(atPath: folder).lazy
      .compactMap { FileManager.default.contents(atPath: "\(folder)/\($0)/stat") }
      .map { String(decoding: $0, as: UTF8.self) }
      .first { $0.contains("(ble-packets)") }
    // proc(5): utime and stime are the 14th and 15th field; the second, the name, has no spaces here.
    return try #require(stat).split(separator: " ")[13...14].compactMap { Int($0) }.reduce(0, +)
  }
}
