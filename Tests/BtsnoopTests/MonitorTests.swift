import Btsnoop
import Glibc
import Streams
import Testing

@Suite("Btsnoop: the kernel's monitor channel", .timeLimit(.minutes(5)))
struct MonitorTests {
  /// One end of a socket that keeps packets apart, in the kernel's place.
  private struct Kernel {
    let ours: FileDescriptor
    let theirs: FileDescriptor

    init() throws {
      var ends: [Int32] = [0, 0]
      let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
      try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
      ours = FileDescriptor(owning: ends[0])
      theirs = FileDescriptor(owning: ends[1])
    }

    func send(_ kind: UInt16, _ adapter: UInt16, _ content: [UInt8], length: UInt16? = nil) {
      let packet = [kind, adapter, length ?? UInt16(content.count)].flatMap(bytes) + content
      let sent = ours.withNumber { Glibc.send($0, packet, packet.count, Int32(MSG_NOSIGNAL)) }
      #expect(sent == packet.count)
    }
  }

  private func monitor(
    _ kernel: Kernel
  ) throws -> (TrafficMonitor, BoundedStream<CaptureRecord>, BoundedStream<BtsnoopError?>) {
    let (records, source) = BoundedStream.make(of: CaptureRecord.self, limit: 10_000)
    let (ends, endSource) = BoundedStream.make(of: BtsnoopError?.self, limit: 10)
    let monitor = try TrafficMonitor(
      owning: kernel.theirs,
      onRecords: { for record in $0 { source.yield(record) } },
      onEnd: { error in
        source.finish()
        endSource.yield(error)
        endSource.finish()
      })
    return (monitor, records, ends)
  }

  @Test func `packets become records with a time, in their order`() async throws {
    let kernel = try Kernel()
    let (monitor, records, ends) = try monitor(kernel)
    for number in 0..<2000 { kernel.send(2, 1, bytes(UInt16(number))) }
    monitor.stop()
    var found: [CaptureRecord] = []
    for await record in records { found.append(record) }
    #expect(found.map(\.bytes) == (0..<2000).map { bytes(UInt16($0)) })
    #expect(found.allSatisfy { $0.kind == .command })
    #expect(found.allSatisfy { $0.adapter == 1 })
    #expect(found.allSatisfy { $0.time > 1_700_000_000_000_000 })
    var errors: [BtsnoopError?] = []
    for await error in ends { errors.append(error) }
    #expect(errors == [nil])
  }

  @Test func `a channel that ends says so, after its last packets`() async throws {
    let kernel = try Kernel()
    let (monitor, records, ends) = try monitor(kernel)
    kernel.send(12, 0xffff, [1])
    // A packet that is shorter than its header, and one that was cut.
    kernel.ours.withNumber { _ = Glibc.send($0, [1, 0, 0], 3, Int32(MSG_NOSIGNAL)) }
    kernel.send(3, 0, [1, 2], length: 10)
    kernel.ours.close()
    var found: [CaptureRecord] = []
    for await record in records { found.append(record) }
    #expect(found.map(\.bytes) == [[1], [1, 2]])
    #expect(found.map(\.originalLength) == [1, 10])
    var errors: [BtsnoopError?] = []
    for await error in ends { errors.append(error) }
    #expect(errors.map { $0?.code } == [.noBluetooth])
    monitor.stop()
  }

  @Test func `a monitor that nobody keeps ends`() async throws {
    let kernel = try Kernel()
    var kept: (TrafficMonitor, BoundedStream<CaptureRecord>, BoundedStream<BtsnoopError?>)? = try monitor(kernel)
    let ends = try #require(kept).2
    kept = nil
    for await error in ends { #expect(error == nil) }
  }
}
