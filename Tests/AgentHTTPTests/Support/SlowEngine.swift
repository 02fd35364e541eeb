import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Streams
import Timing

/// A model server with OpenAI's API on a loopback port, which repeats the prompt after 1.1 s to 1.6 s: an agent does
/// little for a coordinator with an engine that answers at once.
enum SlowEngine {
  /// Serves while the body runs.
  static func run<R: Sendable>(_ body: @escaping @Sendable (_ url: String) async throws -> R) async throws -> R {
    let (ports, source) = BoundedStream.make(of: Int.self, limit: 1)
    let application = Application(
      responder: CallbackResponder<BasicRequestContext> { request, _ in try await response(to: request) },
      configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { source.yield($0.localAddress?.port ?? 0) },
      logger: Logger(label: "slow engine") { _ in SwiftLogNoOpLogHandler() })
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        try await application.run()
        return nil
      }
      group.addTask {
        for await port in ports { return try await body("http://127.0.0.1:\(port)") }
        throw CancellationError()
      }
      defer { group.cancelAll() }
      while let result = try await group.next() {
        if let result { return result }
      }
      throw CancellationError()
    }
  }

  private static func response(to request: Request) async throws -> Response {
    guard request.method == .post else {
      return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: #"{"data":[{"id":"slow"}]}"#)))
    }
    let prompt = String(buffer: try await request.body.collect(upTo: 1 << 20)).utf8.reduce(0) { ($0 &* 31) &+ Int($1) }
    try await Task.sleep(for: .milliseconds(Int.random(in: 1100...1600)), clock: .steady)
    let text = #"{"choices":[{"index":0,"delta":{"content":"an answer to \#(prompt)"},"finish_reason":"stop"}]}"#
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream"],
      body: .init(byteBuffer: ByteBuffer(string: "data: \(text)\n\ndata: [DONE]\n\n")))
  }
}
