import Foundation
import Streams
import SystemTesting

/// Stands between a client and a server and does what networks and servers do on bad days. It notes what the server
/// answered, whatever of it the client got.
final class FaultProxy: Sendable {
  enum Fault: Sendable {
    case none
    /// The connection is reset before the server receives anything.
    case refused
    /// It is reset when the server has got so many bytes of the body.
    case resetAfter(Int)
    /// The server has done it; its answer is lost.
    case lostReply
    /// Half of the answer comes.
    case halfReply
    /// The proxy answers itself, in XML or not.
    case answer(Int, String)
    /// The bucket is in this region: what is signed for another one is answered with this status, and told so in a header,
    /// or with 400 in the error.
    case elsewhere(Int, region: String)
    /// Nothing happens, until the client goes.
    case stall
    /// The server's checksum is said to be another one.
    case wrongChecksum
    /// What comes back comes slowly.
    case trickle
    /// The body goes to the server at so many bytes per second.
    case slow(Int)
  }

  struct Seen: Sendable {
    var method: String
    /// Path and query, as they were sent.
    var target: String
    /// Who says to ask.
    var authorization = ""
    /// What the server answered; 0 when it was not asked, or did not answer.
    var status = 0

    var isWrite: Bool { method == "PUT" && status == 200 }
  }

  /// The part of a small object with which the client finds out, once for each server, whether that keeps conditions on
  /// completing parts.
  var partsOfQuestion: [Seen] { seen.filter { $0.isWrite && $0.target.contains("partNumber=1&") } }

  /// The requests with which objects were sent.
  var writtenObjects: [Seen] { seen.filter { $0.isWrite && !$0.target.contains("partNumber=1&") } }

  let port: UInt16
  private let server: UInt16
  private let decide: @Sendable (String, String) -> Fault
  private let log = Lock<[Seen]>([])
  private let listener: Int32
  private let line: SlowLine?

  /// The number of bytes of bodies that came over the slow line.
  var carriedBytes: Int { line?.carried ?? 0 }

  var seen: [Seen] { log.withLock { $0 } }

  /// How often the server said that it had made an object.
  func made(_ key: String) -> Int {
    seen.filter { seen in
      let path = seen.target.prefix { $0 != "?" }
      let query = seen.target.drop { $0 != "?" }
      let isWhole = seen.method == "PUT" && query.isEmpty || seen.method == "POST" && query.hasPrefix("?uploadId")
      return isWhole && path.hasSuffix("/" + key) && seen.status == 200
    }.count
  }

  /// - Parameters:
  ///   - rate: the bytes per second of all bodies together; without one, the line is not slow.
  ///   - decide: what happens to a request, by its method and its target.
  init(
    before server: UInt16, rate: Int? = nil,
    _ decide: @escaping @Sendable (String, String) -> Fault = { _, _ in .none }
  ) throws {
    let descriptor = LoopbackPort.makeSocket()
    line = rate.map { SlowLine(rate: $0) }
    // What is on its way waits at the sender.
    var room: Int32 = 16 << 10
    if rate != nil { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size)) }
    port = try LoopbackPort.free()
    guard LoopbackPort.withAddress(port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 64) == 0 else {
      throw POSIXError(.EADDRINUSE)
    }
    self.server = server
    self.decide = decide
    listener = descriptor
    try startThread(named: "proxy") { [weak self, listener] in
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        guard let self else {
          close(connection)
          break
        }
        do {
          try startThread(named: "proxied") { self.serve(connection) }
        } catch {
          close(connection)
        }
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  /// A request: its head, and as much of its body as came with that.
  private struct Request {
    let lines: [Substring]
    let method: String
    let target: String
    let authorization: String
    /// The length of the whole body, in bytes.
    let length: Int
    let body: [UInt8]

    /// Reads the head of a request; `nil` if the client goes before its end.
    init?(from client: Int32) {
      var bytes = [UInt8]()
      var found: Int?
      while found == nil, let more = FaultProxy.read(client) {
        bytes += more
        found = FaultProxy.headEnd(bytes)
      }
      guard let end = found else { return nil }
      let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
      let words = lines[0].split(separator: " ")
      self.lines = lines
      method = String(words[0])
      target = String(words[1])
      authorization =
        lines.first { $0.lowercased().hasPrefix("authorization:") }
        .map { $0.dropFirst(14).trimmingCharacters(in: .whitespaces) } ?? ""
      length =
        lines.first { $0.lowercased().hasPrefix("content-length:") }
        .flatMap { Int($0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)) } ?? 0
      body = Array(bytes[(end + 4)...])
    }
  }

  /// One request for each connection.
  private func serve(_ client: Int32) {
    defer { close(client) }
    guard let request = Request(from: client) else { return }
    var fault = decide(request.method, request.target)
    if case .elsewhere(_, let region) = fault, request.authorization.contains("/\(region)/s3/") { fault = .none }
    switch fault {
    case .refused: Self.reset(client)
    case .stall:
      while Self.read(client) != nil {}
      note(request, 0)
    case .answer(let status, let text):
      answer(request, from: client, status, text)
    case .elsewhere(400, let region):
      let text = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>\(region)</Region></Error>"
      answer(request, from: client, 400, text)
    case .elsewhere(let status, let region):
      let text = "<Error><Code>PermanentRedirect</Code></Error>"
      // Nothing listens at the port: who follows a redirect fails.
      let headers = "x-amz-bucket-region: \(region)\r\nLocation: http://127.0.0.1:1/elsewhere\r\n"
      answer(request, from: client, status, text, headers)
    default: pass(request, from: client, fault)
    }
  }

  private func note(_ request: Request, _ status: Int) {
    let seen = Seen(
      method: request.method, target: request.target, authorization: request.authorization, status: status)
    log.withLock { $0.append(seen) }
  }

  /// Answers in place of the server, when the whole body has come.
  private func answer(_ request: Request, from client: Int32, _ status: Int, _ text: String, _ header: String = "") {
    var rest = request.length - request.body.count
    while rest > 0, let more = Self.read(client) { rest -= more.count }
    note(request, 0)
    let head = "HTTP/1.1 \(status) Bad\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\(header)\r\n"
    Self.write(client, Array((head + (request.method == "HEAD" ? "" : text)).utf8))
  }

  /// Sends a request on to the server, and what it answers back.
  private func pass(_ request: Request, from client: Int32, _ fault: Fault) {
    let backend = LoopbackPort.makeSocket()
    defer { close(backend) }
    guard LoopbackPort.withAddress(server, { connect(backend, $0, $1) }) == 0 else { return Self.reset(client) }
    let head = request.lines.filter { !$0.lowercased().hasPrefix("connection:") } + ["Connection: close", "", ""]
    Self.write(backend, Array(head.joined(separator: "\r\n").utf8))
    var body = request.body
    var rest = request.length
    while true {
      if case .resetAfter(let count) = fault, request.length - rest + body.count > count {
        Self.reset(backend)
        return Self.reset(client)
      }
      line?.carry(body.count)
      Self.write(backend, body)
      if case .slow(let rate) = fault { usleep(UInt32(body.count * 1_000_000 / rate)) }
      rest -= body.count
      guard rest > 0, let more = Self.read(client) else { break }
      body = more
    }
    guard rest == 0 else { return Self.reset(backend) }
    var reply = [UInt8]()
    while let more = Self.read(backend) { reply += more }
    note(request, Int(String(decoding: reply.dropFirst(9).prefix(3), as: UTF8.self)) ?? 0)
    forward(reply, to: client, fault)
  }

  private func forward(_ reply: [UInt8], to client: Int32, _ fault: Fault) {
    switch fault {
    case .lostReply: Self.reset(client)
    case .halfReply: Self.write(client, Array(reply.prefix(reply.count / 2)))
    case .wrongChecksum:
      let head = Self.headEnd(reply) ?? reply.count
      let lines = String(decoding: reply[..<head], as: UTF8.self).components(separatedBy: "\r\n").map { line in
        switch line.lowercased().prefix(while: { $0 != ":" }) {
        case "etag": "ETag: \"00000000000000000000000000000000\""
        case "x-amz-checksum-sha256": "x-amz-checksum-sha256: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        default: line
        }
      }
      Self.write(client, Array(lines.joined(separator: "\r\n").utf8) + reply[head...])
    case .trickle:
      for start in stride(from: 0, to: reply.count, by: 16) {
        Self.write(client, Array(reply[start..<min(start + 16, reply.count)]))
        usleep(1000)
      }
    default: Self.write(client, reply)
    }
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (0...(bytes.count - 4)).first { bytes[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }
  }

  private static func read(_ descriptor: Int32) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(recv(descriptor, buffer.baseAddress, buffer.count, 0), 0)
    }
    return bytes.isEmpty ? nil : bytes
  }

  private static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Has the connection end with RST instead of FIN.
  private static func reset(_ descriptor: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}

/// A line that all connections share.
private final class SlowLine: Sendable {
  private struct State {
    var carried = 0
    /// The instant at which it is free again.
    var free = ContinuousClock.now
  }

  private let rate: Int
  private let state = Lock(State())

  var carried: Int { state.withLock { $0.carried } }

  init(rate: Int) { self.rate = rate }

  /// Takes the time that some bytes need. Blocks the thread.
  func carry(_ bytes: Int) {
    let free = state.withLock { state in
      state.carried += bytes
      state.free = max(state.free, .now) + .seconds(Double(bytes) / Double(rate))
      return state.free
    }
    usleep(UInt32(max(ContinuousClock.now.duration(to: free) / .microseconds(1), 0)))
  }
}
