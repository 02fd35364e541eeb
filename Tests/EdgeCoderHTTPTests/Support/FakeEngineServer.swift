import Foundation
import NIOCore
import NIOPosix

/// A TCP server that answers each request byte by byte by a test's script: it can cut anywhere, stall, die, or speak
/// something that is not HTTP.
enum FakeEngineServer {
  struct Request: Sendable {
    let method: String
    let path: String
    let headers: [String: String]
    let body: Data

  }

  struct Connection: Sendable {
    fileprivate let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    fileprivate let closed: Signal
    fileprivate let channel: any Channel

    func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }
    func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// A status line and headers; the body ends with the connection.
    func head(_ status: Int = 200, type: String = "application/json") async throws {
      try await send("HTTP/1.1 \(status) X\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n")
    }

    /// A head that announces chunks; what follows is cut as the caller likes. A missing last chunk is a death.
    func chunkedHead(type: String) async throws {
      try await send(
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
    }

    func chunk(_ bytes: [UInt8]) async throws {
      try await send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
    }

    func lastChunk() async throws { try await send("0\r\n\r\n") }

    func reply(_ body: String) async throws { try await reply(200, body) }

    func reply(_ status: Int, _ body: String) async throws {
      try await head(status)
      try await send(body)
    }

    /// Ends the connection as the kernel does for a process that was killed.
    func reset() async throws {
      guard let options = channel as? any SocketOptionProvider else { throw ChannelError.operationUnsupported }
      try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
      try await channel.close()
    }

    /// Returns when the client has closed the connection.
    func untilClosedByClient() async { await closed.wait() }
  }

  typealias Script = @Sendable (Request, Connection) async throws -> Void

  /// Serves `script` on a free loopback port while `test` runs with the server's address.
  static func run<Value: Sendable>(
    _ script: @escaping Script, test: @Sendable (String) async throws -> Value
  ) async throws -> Value {
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.autoRead, value: false)
      // Wrapped only when it is served: a wrapped channel that is never used, because the test has ended, traps.
      .bind(host: "127.0.0.1", port: 0) { $0.eventLoop.makeSucceededFuture($0) }
    let port = server.channel.localAddress?.port ?? 0
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await withThrowingDiscardingTaskGroup { connections in
          try await server.executeThenClose { clients in
            for try await client in clients {
              connections.addTask { await serve(client, script) }
            }
          }
        }
      }
      defer { group.cancelAll() }
      return try await test("http://127.0.0.1:\(port)")
    }
  }

  private static func serve(_ channel: any Channel, _ script: @escaping Script) async {
    do {
      let client = try await channel.eventLoop.submit {
        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
      }.get()
      channel.setOption(.autoRead, value: true).whenFailure { _ in channel.close(promise: nil) }
      try await client.executeThenClose { inbound, outbound in
        var iterator = inbound.makeAsyncIterator()
        var data = Data()
        var request: Request?
        while request == nil, let bytes = try await iterator.next() {
          data.append(contentsOf: bytes.readableBytesView)
          request = parse(data)
        }
        guard let request else { return }
        let connection = Connection(outbound: outbound, closed: Signal(), channel: channel)
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await script(request, connection) }
          let closed = connection.closed
          let rest = UncheckedIterator(iterator)
          group.addTask {
            var rest = rest.value
            do { while try await rest.next() != nil {} } catch { /* A reset is a close too. */  }
            closed.fire()
            try await untilCancelled()
          }
          try await group.next()
          group.cancelAll()
        }
      }
    } catch {
      // The client or the test closed the connection: the test looks at its own side.
    }
  }

  /// The whole request, once it is there.
  private static func parse(_ data: Data) -> Request? {
    guard let end = data.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: data[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 {
        headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
      }
    }
    let body = data[end.upperBound...]
    guard body.count >= Int(headers["content-length"] ?? "0") ?? 0 else { return nil }
    let start = lines[0].split(separator: " ")
    return Request(method: String(start[0]), path: String(start[1]), headers: headers, body: Data(body))
  }

  /// The iterator goes from one task to one other, which alone uses it from then on.
  private struct UncheckedIterator: @unchecked Sendable {
    let value: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    init(_ value: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator) { self.value = value }
  }
}
