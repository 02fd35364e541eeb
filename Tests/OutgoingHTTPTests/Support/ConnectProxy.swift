import Foundation
import Streams

/// A small HTTP and SOCKS proxy on a loopback port: it notes each `CONNECT`, and relays those to hosts that it knows.
final class ConnectProxy: Sendable {
  let port: Int
  private let listener: Int32
  private let relays: [String: Int]
  private let requests = Lock<[String]>([])
  private let accepted = Lock(0)

  /// The number of connections so far, also of those that sent no request.
  var connections: Int { accepted.withLock { $0 } }
  /// The heads of the requests so far.
  var seen: [String] { requests.withLock { $0 } }
  /// The hosts and ports that were asked for.
  var targets: [String] { seen.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) } }

  /// - Parameter relays: The local port to connect to for each `HOST:PORT`; others are refused with 502.
  init(_ relays: [String: Int] = [:]) throws {
    self.relays = relays
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound, listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
    self.listener = listener
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [weak self] in
      while case let client = accept(listener, nil, nil), client >= 0 {
        guard let proxy = self else { break }
        proxy.accepted.withLock { $0 += 1 }
        Thread.detachNewThread { proxy.serve(client) }
      }
      close(listener)
    }
  }

  /// Ends the proxy; connections end with their peers.
  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve(_ client: Int32) {
    defer { close(client) }
    guard let first = Self.read(1, from: client)?.first else { return }
    if first == 5 { return serveSOCKS(client) }
    var head = [first]
    var byte: UInt8 = 0
    while !head.suffix(4).elementsEqual([13, 10, 13, 10]), head.count < 8192, recv(client, &byte, 1, 0) == 1 {
      head.append(byte)
    }
    let text = String(decoding: head, as: UTF8.self)
    requests.withLock { $0.append(text) }
    let words = text.split(separator: " ")
    guard words.first == "CONNECT", words.count > 1, let port = relays[String(words[1])],
      let server = Self.connect(port)
    else {
      Self.send("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", to: client)
      return
    }
    Self.send("HTTP/1.1 200 Connection established\r\n\r\n", to: client)
    Self.relay(between: client, and: server)
  }

  /// Answers a client of SOCKS 5 without a login, after the version (RFC 1928).
  private func serveSOCKS(_ client: Int32) {
    guard let methods = Self.read(1, from: client)?.first, Self.read(Int(methods), from: client) != nil else { return }
    Self.send([5, 0], to: client)
    // The version, CONNECT, a zero, and a name with its length; then the port.
    guard let head = Self.read(5, from: client), head.starts(with: [5, 1, 0, 3]),
      let place = Self.read(Int(head[4]) + 2, from: client)
    else { return }
    let port = Int(place[place.count - 2]) << 8 | Int(place[place.count - 1])
    let target = String(decoding: place.dropLast(2), as: UTF8.self) + ":\(port)"
    requests.withLock { $0.append("CONNECT \(target) SOCKS") }
    guard let port = relays[target], let server = Self.connect(port) else {
      return Self.send([5, 5, 0, 1, 0, 0, 0, 0, 0, 0], to: client)
    }
    Self.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0], to: client)
    Self.relay(between: client, and: server)
  }

  private static func relay(between client: Int32, and server: Int32) {
    let back = Thread { relay(from: server, to: client) }
    back.start()
    relay(from: client, to: server)
    while !back.isFinished { usleep(1000) }
    close(server)
  }

  private static func relay(from source: Int32, to sink: Int32) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
      guard write(sink, buffer, count) == count else { break }
    }
    shutdown(sink, Int32(SHUT_WR))
  }

  private static func send(_ text: String, to client: Int32) { send([UInt8](text.utf8), to: client) }
  private static func send(_ bytes: [UInt8], to client: Int32) { _ = write(client, bytes, bytes.count) }

  /// Reads a number of bytes; `nil` if the client leaves before.
  private static func read(_ count: Int, from client: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return count == 0 || recv(client, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
  }

  private static func connect(_ port: Int) -> Int32? {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(port)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result == 0 { return server }
    close(server)
    return nil
  }

  private static func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }
}
