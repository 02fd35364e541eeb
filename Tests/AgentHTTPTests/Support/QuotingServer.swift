import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Streams

/// A server on a loopback port whose every response quotes all headers and the body of the request.
enum QuotingServer {
  /// The form of the responses.
  enum Fault: String, CaseIterable, Sendable {
    /// 401, with an error as a coordinator or an S3 server writes it.
    case refused
    /// 500, with text.
    case broken
    /// 200, with JSON or XML that ends early.
    case truncated
    /// 302 to a URL that contains the quotation.
    case redirecting
    /// No TLS, at an https URL.
    case withoutTLS
  }

  /// Serves while the body runs.
  /// - Parameter quoted: What was quoted so far, for a test that nothing was shown because nothing was sent.
  static func run(
    _ fault: Fault, quoted: Lock<[String]> = Lock([]), _ body: @escaping @Sendable (String) async throws -> Void
  ) async throws {
    let (ports, source) = BoundedStream.make(of: Int.self, limit: 1)
    let application = Application(
      responder: CallbackResponder<BasicRequestContext> { request, _ in
        let bytes = try await request.body.collect(upTo: 1 << 20)
        let headers = request.headers.map { "\($0.name) \($0.value)" }.joined(separator: "; ")
        let quote = headers + " " + String(buffer: bytes)
        quoted.withLock { $0.append(quote) }
        return response(fault, to: request, quoting: quote)
      },
      configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { source.yield($0.localAddress?.port ?? 0) },
      logger: Logger(label: "quoting server") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await application.run() }
      group.addTask {
        for await port in ports {
          try await body("\(fault == .withoutTLS ? "https" : "http")://127.0.0.1:\(port)")
          return
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private static func response(_ fault: Fault, to request: Request, quoting quote: String) -> Response {
    // An engine without a model gets no prompt.
    if request.uri.path == "/v1/models" {
      return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: #"{"data":[{"id":"m"}]}"#)))
    }
    guard request.method != .head else { return Response(status: fault == .truncated ? .ok : .forbidden) }
    let said = quote.replacing("\\", with: "").replacing("\"", with: "'").replacing("<", with: "")
    let isJSON = request.method == .post && !request.uri.path.hasPrefix("/bucket/")
    let text =
      isJSON
      ? #"{"error":"\#(said)","reason":"\#(said)"}"#
      : "<Error><Code>InvalidToken</Code><Message>\(said)</Message></Error>"
    return switch fault {
    case .refused: Response(status: .unauthorized, body: .init(byteBuffer: ByteBuffer(string: text)))
    case .broken, .withoutTLS: Response(status: .internalServerError, body: .init(byteBuffer: ByteBuffer(string: said)))
    case .truncated: Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: String(text.dropLast(3)))))
    case .redirecting:
      Response(status: .found, headers: [.location: "/?\(said.filter { $0.isLetter || $0 == "-" })"])
    }
  }
}
