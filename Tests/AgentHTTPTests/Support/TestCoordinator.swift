import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL
import Streams

/// A coordinator on a loopback port, which checks all that it is asked and misbehaves on command.
struct TestCoordinator: Sendable {
  /// How it misbehaves, once for each.
  enum Misdeed: Sendable {
    case answers(Int, String)
    /// Performs the request, and replies only when the test permits.
    case stalls(until: @Sendable () async -> Void)
    /// It does what it is asked, and the answer breaks off.
    case breaksOff
  }

  let address: String
  let registry: Registry
  private let misdeeds: Lock<[String: [Misdeed]]>

  /// The next request to a path is treated like this, the one after it like the next that was said, and so on.
  func misbehave(_ path: String, _ misdeed: Misdeed) { misdeeds.withLock { $0[path, default: []].append(misdeed) } }

  /// Serves while the body runs; afterwards no server listens at the address.
  /// - Parameters:
  ///   - port: 0 for a free one.
  ///   - certificate: The PEM files with which it speaks TLS; `nil` for plain http.
  static func run<R: Sendable>(
    port: Int = 0, registry: Registry = Registry(), certificate: (chain: String, key: String)? = nil,
    _ body: @escaping @Sendable (TestCoordinator) async throws -> R
  ) async throws -> R {
    let misdeeds = Lock<[String: [Misdeed]]>([:])
    let router = Self.router(registry, misdeeds)
    let (ports, source) = BoundedStream.make(of: Int.self, limit: 1)
    let application = Application(
      router: router, server: try certificate.map { try tls($0) } ?? .http1(),
      configuration: .init(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { source.yield($0.localAddress?.port ?? 0) },
      logger: Logger(label: "test coordinator") { _ in SwiftLogNoOpLogHandler() })
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        try await application.run()
        return nil
      }
      group.addTask {
        for await port in ports {
          return try await body(
            TestCoordinator(
              address: certificate == nil ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)",
              registry: registry, misdeeds: misdeeds))
        }
        throw CancellationError()
      }
      defer { group.cancelAll() }
      while let result = try await group.next() {
        if let result { return result }
      }
      throw CancellationError()
    }
  }

  private static func tls(_ certificate: (chain: String, key: String)) throws -> HTTPServerBuilder {
    try .tls(
      tlsConfiguration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(certificate.chain).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: certificate.key, format: .pem))))
  }

  /// Answers every POST as the registry does, or as the next misdeed for its path demands.
  private static func router(
    _ registry: Registry, _ misdeeds: Lock<[String: [Misdeed]]>
  ) -> Router<BasicRequestContext> {
    let router = Router()
    router.post("**") { request, _ in
      let path = request.uri.path
      let headers = Dictionary(
        request.headers.map { ($0.name.canonicalName, $0.value) }, uniquingKeysWith: { first, _ in first })
      let bytes = Data(buffer: try await request.body.collect(upTo: 1 << 20))
      let misdeed = misdeeds.withLock { $0[path]?.isEmpty == false ? $0[path]?.removeFirst() : nil }
      var answer = (status: 0, body: "")
      if case .answers(let status, let text) = misdeed {
        answer = (status, text)
      } else {
        answer = registry.answer(path, headers, bytes)
      }
      registry.note(
        .init(
          path: path, body: bytes, isSigned: headers["x-signature"] != nil, idempotencyKey: headers["idempotency-key"],
          userAgent: headers["user-agent"],
          status: answer.status))
      if case .stalls(let until) = misdeed { await until() }
      let text = answer.body
      guard case .breaksOff = misdeed else {
        var headers: HTTPFields = [.contentType: "application/json"]
        // Nothing listens at the port: who follows a redirect fails.
        if (300..<400).contains(answer.status) { headers[.location] = "http://127.0.0.1:1/elsewhere" }
        return Response(
          status: .init(code: answer.status), headers: headers,
          body: .init(byteBuffer: ByteBuffer(string: text)))
      }
      return Response(
        status: .ok,
        body: .init { writer in
          try await writer.write(ByteBuffer(string: String(text.prefix(3))))
          throw CancellationError()
        })
    }
    return router
  }
}
