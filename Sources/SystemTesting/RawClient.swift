internal import Foundation
internal import Glibc

/// A plain TCP socket, for what an HTTP client would never do.
package final class RawClient: @unchecked Sendable {
  // The descriptor is used by one test at a time; reading happens on a thread of its own while the test waits.
  private var socket: Int32

  package struct Failure: Error {
    package let step: String
    package let code = errno
  }

  /// Connects to a port of 127.0.0.1.
  package init(port: Int) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { throw Failure(step: "socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    // A server that never answers fails the test instead of holding it up.
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    // The limit of connect as well, which else waits for two minutes in a full queue.
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(step: "connect") }
  }

  deinit { close(reset: false) }

  /// Sends a text as it is.
  package func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw Failure(step: "send")
    }
  }

  /// Sends the end of what this side sends.
  package func finishSending() { shutdown(socket, Int32(SHUT_WR)) }

  /// Returns everything up to the end of the connection.
  package func readToEnd() async throws -> String { try await read { _ in false } }

  /// Returns what comes until some text was among it.
  package func read(until text: String) async throws -> String { try await read { $0.contains(text) } }

  private func read(until isEnough: @Sendable @escaping (String) -> Bool) async throws -> String {
    let socket = socket
    return try await withCheckedThrowingContinuation { continuation in
      // A thread of its own: a blocked thread of Dispatch's pool would be one less for every task of every test.
      Thread.detachNewThread {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
          let count = recv(socket, &buffer, buffer.count, 0)
          if count == 0 || (count < 0 && errno == ECONNRESET) { break }
          if count < 0 { return continuation.resume(throwing: Failure(step: "recv")) }
          all += buffer[..<count]
          if isEnough(String(decoding: all, as: UTF8.self)) { break }
        }
        continuation.resume(returning: String(decoding: all, as: UTF8.self))
      }
    }
  }

  /// Ends the connection, with a FIN or (`reset`) an RST.
  package func close(reset: Bool) {
    guard socket >= 0 else { return }
    if reset {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
    Glibc.close(socket)
    socket = -1
  }

  /// Connects again and again until that is refused, on a thread of its own.
  package static func knock(port: Int) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        while (try? RawClient(port: port)) != nil {}
        continuation.resume()
      }
    }
  }

  /// Sends `text` and returns everything that comes back.
  package static func exchange(port: Int, _ text: String) async throws -> String {
    let client = try RawClient(port: port)
    try client.send(text)
    return try await client.readToEnd()
  }
}
