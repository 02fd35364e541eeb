import Glibc
import Testing

@testable import SystemState

@Suite("The sockets of the service manager") struct ActivationSocketsTests {
  @Test("Sockets of streams and datagrams are told apart, and programs that this one starts get none of them")
  func kinds() throws {
    let stream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let datagram = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer {
      close(stream)
      close(datagram)
    }
    for (descriptor, expected) in [(stream, [[stream], []]), (datagram, [[], [datagram]])] {
      try #require(descriptor >= 0)
      let sockets = ActivationSockets(descriptors: descriptor..<descriptor + 1)
      #expect([sockets.streams, sockets.datagrams] == expected)
      #expect(sockets.others == 0)
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
  }

  @Test("A descriptor that is no socket is closed and counted") func others() throws {
    let file = open("/dev/null", O_RDONLY)
    try #require(file >= 0)
    #expect(ActivationSockets(descriptors: file..<file + 1).others == 1)
  }

  @Test("Without a service manager there are none") func none() {
    #expect(ActivationSockets.take() == nil)
  }
}
