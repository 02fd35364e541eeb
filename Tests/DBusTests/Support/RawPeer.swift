import Foundation
import Glibc
import SystemTesting

/// A peer that speaks D-Bus byte by byte, so that it can say what no library would let it say.
///
/// It listens, lets one client through the authentication, and hands every call it reads to `answer`, whose bytes go
/// out as they are. It ends when `answer` returns `nil` or the client goes.
final class RawPeer: Sendable {
  /// Where to connect to, peer to peer.
  let address: String
  private let listening: Int32
  private let path: String

  init(_ answer: @escaping @Sendable (_ serial: UInt32) -> [UInt8]?) throws {
    path = NSTemporaryDirectory() + "/edgeblue-raw-\(UUID().uuidString.prefix(8))"
    address = "unix:path=\(path)"
    let listening = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    self.listening = listening
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listening, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, listen(listening, 1) == 0 else { throw TestTimeout("bind: \(errno)") }
    Thread.detachNewThread {
      let client = accept(listening, nil, nil)
      guard client >= 0 else { return }
      defer { close(client) }
      if Self.authenticate(client) { Self.serve(client, answer) }
    }
  }

  deinit {
    // Wakes a thread that still waits in accept().
    shutdown(listening, Int32(SHUT_RDWR))
    close(listening)
    unlink(path)
  }

  private static func authenticate(_ client: Int32) -> Bool {
    while let line = line(from: client) {
      switch line {
      case let text where text.contains("AUTH EXTERNAL"): send(client, "OK 00112233445566778899aabbccddeeff\r\n".utf8)
      case "NEGOTIATE_UNIX_FD": send(client, "AGREE_UNIX_FD\r\n".utf8)
      case "BEGIN": return true
      default: send(client, "REJECTED EXTERNAL\r\n".utf8)
      }
    }
    return false
  }

  private static func serve(_ client: Int32, _ answer: (UInt32) -> [UInt8]?) {
    while let header = bytes(16, from: client) {
      func number(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(header[at + $1]) << (8 * $1) } }
      let fields = (number(12) + 7) & ~7
      guard bytes(fields + number(4), from: client) != nil, let reply = answer(UInt32(number(8))) else { return }
      send(client, reply)
    }
  }

  private static func line(from client: Int32) -> String? {
    var text: [UInt8] = []
    while let byte = bytes(1, from: client)?.first {
      if byte == UInt8(ascii: "\n") {
        return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .controlCharacters)
      }
      // The very first byte of a connection is NUL.
      if byte != 0 { text.append(byte) }
    }
    return nil
  }

  private static func bytes(_ count: Int, from client: Int32) -> [UInt8]? {
    var all: [UInt8] = []
    var part = [UInt8](repeating: 0, count: max(count, 1))
    while all.count < count {
      let got = recv(client, &part, count - all.count, 0)
      guard got > 0 else { return nil }
      all += part.prefix(got)
    }
    return all
  }

  private static func send(_ client: Int32, _ data: some Collection<UInt8>) {
    let data = Array(data)
    var sent = 0
    while sent < data.count {
      let count = data.withUnsafeBytes {
        Glibc.send(client, $0.baseAddress! + sent, data.count - sent, Int32(MSG_NOSIGNAL))
      }
      // A client that hung up on nonsense is what some tests want.
      guard count > 0 else { return }
      sent += count
    }
  }
}

/// D-Bus messages as bytes, little-endian.
enum RawMessages {
  /// A method return with a body as given, right or wrong.
  static func reply(to serial: UInt32, signature: String, body: [UInt8]) -> [UInt8] {
    var fields: [UInt8] = [5, 1, UInt8(ascii: "u"), 0] + little(serial)
    if !signature.isEmpty {
      fields += [8, 1, UInt8(ascii: "g"), 0, UInt8(signature.utf8.count)] + signature.utf8 + [0]
    }
    var message: [UInt8] = [UInt8(ascii: "l"), 2, 1, 1]
    message += little(UInt32(body.count)) + little(7) + little(UInt32(fields.count)) + fields
    while message.count % 8 != 0 { message.append(0) }
    return message + body
  }

  /// A string as it is marshalled at an aligned place.
  static func text(_ text: String) -> [UInt8] { little(UInt32(text.utf8.count)) + text.utf8 + [0] }

  static func little(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
}
