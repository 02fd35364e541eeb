import Foundation
import NIOCore
import NIOPosix

/// An HTTP server that keeps its connections, and counts them.
enum KeptConnectionServer {
  /// One request of a connection.
  struct Request: Sendable {
    /// The number of the connection, from 1.
    let connection: Int
    /// The number of the request on its connection, from 1.
    let number: Int
    let path: String
    let body: Data
  }

  /// The reply to one request.
  enum Reply: Sendable {
    /// A body, after which the connection stays open.
    case body(String, status: Int = 200)
    /// The end of the connection, without a reply.
    case close
  }

  /// Serves `script` on a free loopback port while `test` runs with the server's address.
  static func run<Value: Sendable>(
    _ script: @escaping @Sendable (Request) -> Reply, test: @Sendable (String) async throws -> Value
  ) async throws -> Value {
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .bind(host: "127.0.0.1", port: 0) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    let port = server.channel.localAddress?.port ?? 0
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await withThrowingDiscardingTaskGroup { connections in
          try await server.executeThenClose { clients in
            var count = 0
            for try await client in clients {
              count += 1
              let number = count
              connections.addTask { await serve(client, number, script) }
            }
          }
        }
      }
      defer { group.cancelAll() }
      return try await test("http://127.0.0.1:\(port)")
    }
  }

  private static func serve(
    _ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ connection: Int,
    _ script: @escaping @Sendable (Request) -> Reply
  ) async {
    do {
      try await client.executeThenClose { inbound, outbound in
        var data = Data()
        var number = 0
        for try await bytes in inbound {
          data.append(contentsOf: bytes.readableBytesView)
          guard let (path, body) = parse(data) else { continue }
          data = Data()
          number += 1
          switch script(Request(connection: connection, number: number, path: path, body: body)) {
          case .close: return
          case .body(let body, let status):
            let head = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            try await outbound.write(ByteBuffer(string: head + body))
          }
        }
      }
    } catch {
      // The client or the test closed the connection: the test looks at its own side.
    }
  }

  /// The path and the body of a whole request; a client sends the next one after the reply.
  private static func parse(_ data: Data) -> (String, Data)? {
    guard let end = data.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: data[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) }
    let body = data[end.upperBound...]
    guard body.count >= length ?? 0 else { return nil }
    return (String(lines[0].split(separator: " ")[1]), Data(body))
  }
}
