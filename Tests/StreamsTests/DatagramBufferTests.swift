import Glibc
import Testing

@testable import Streams

@Suite("Datagrams with control messages") struct DatagramBufferTests {
  /// Two sockets, each of which receives what is sent to the other one.
  private func pair() throws -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &ends) == 0)
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  @Test("Datagrams keep their bounds, and a buffer that is too short cuts them") func bounds() throws {
    let (here, there) = try pair()
    there.withNumber { number in for text in ["ab", "", "abcdef"] { _ = send(number, text, text.utf8.count, 0) } }
    var buffer = DatagramBuffer(size: 4)
    for expected in ["ab", "", "abcd"] {
      let bytes = try here.withNumber { number throws(SystemCallError) in try buffer.receive(from: number) }
      #expect(bytes.map { String(decoding: $0, as: UTF8.self) } == expected)
      #expect(buffer.control.isEmpty)
    }
  }

  @Test("The kernel's stamp is read as what it is alone") func stamp() throws {
    let (here, there) = try pair()
    var on: Int32 = 1
    here.withNumber { _ = setsockopt($0, SOL_SOCKET, SO_TIMESTAMP, &on, socklen_t(MemoryLayout<Int32>.size)) }
    let before = time(nil)
    _ = there.withNumber { send($0, "a", 1, 0) }
    var buffer = DatagramBuffer(size: 4)
    _ = try here.withNumber { number throws(SystemCallError) in try buffer.receive(from: number) }
    let stamp = try #require(buffer.control(SO_TIMESTAMP, as: timeval.self))
    #expect((before - 1...time(nil) + 1).contains(stamp.tv_sec))
    #expect(buffer.control(SO_TIMESTAMP + 1, as: timeval.self) == nil)
    #expect(buffer.control(SO_TIMESTAMP, as: (timeval, timeval, timeval).self) == nil)
  }

  @Test("A socket without a datagram is an error with the kernel's number") func nothing() throws {
    let (here, there) = try pair()
    defer { there.close() }
    var buffer = DatagramBuffer(size: 4)
    let error = #expect(throws: SystemCallError.self) {
      try here.withNumber { number throws(SystemCallError) in
        try buffer.receive(from: number, flags: Int32(MSG_DONTWAIT))
      }
    }
    #expect(error?.errno == EAGAIN)
  }
}
