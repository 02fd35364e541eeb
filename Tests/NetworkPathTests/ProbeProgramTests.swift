import Foundation
import Streams
import Testing

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path

/// The built command, in a namespace with a route: without one nothing is probed.
@Suite(
  "The probe of the command",
  .enabled(if: Namespace.isPermitted, "needs root, or to run under: unshare --user --map-root-user --net"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct ProbeProgramTests {
  @Test("path --probe asks the server itself, whatever proxy the environment names", arguments: ["http", "https"])
  func noProxyIsAsked(scheme: String) async throws {
    let namespace = try await Namespace()
    try await namespace.addCable("up0")
    try await namespace.ip("addr add 192.0.2.2/24 dev up0\nroute add default via 192.0.2.1")
    let (server, proxy) = try await namespace.inside { (try Listener("192.0.2.2"), try Listener("127.0.0.1")) }
    let variables = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].map {
      "\($0)=http://127.0.0.1:\(proxy.port)"
    }
    let words = variables + [program, "path", "--json", "--probe", "\(scheme)://192.0.2.2:\(server.port)"]
    // Both take connections, and answer none.
    let path = try await namespace.inside { try run("/usr/bin/env", words) }
    #expect(path.output.contains(#""reachability":"unreachable""#), "\(path.output)")
    #expect(server.wasAsked)
    #expect(!proxy.wasAsked)
  }
}

/// A port of an address at which connections wait, and nobody accepts them.
private struct Listener: Sendable {
  let port: Int
  private let socket: FileDescriptor

  /// Opens the port in the network namespace of this thread.
  init(_ host: String) throws {
    let socket = FileDescriptor(
      owning: Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr(host)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        socket.withNumber {
          bind($0, address, length) == 0 && listen($0, 8) == 0 && getsockname($0, address, &length) == 0
        }
      }
    }
    guard isOpen == true else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EADDRINUSE) }
    self.socket = socket
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  /// A Boolean value that indicates whether a connection waits.
  var wasAsked: Bool {
    socket.withNumber { number in
      var found = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      return poll(&found, 1, 0) == 1
    } == true
  }
}
