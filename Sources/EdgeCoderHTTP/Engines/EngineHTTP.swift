internal import AsyncHTTPClient
internal import EdgeCoder
internal import ErrorReporting
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import OutgoingHTTP
internal import Streams
internal import Timing

/// The HTTP client of one engine, with timeouts and size limits; it logs no prompt, reply or key.
///
/// Its errors go to whoever sent the prompt, so they do not contain the address of the server.
final class EngineHTTP: Sendable {
  let limits: EngineLimits
  private let base: String
  private let apiKey: APIKey?
  /// The key and the address, which a server may quote.
  private let secrets: KnownSecrets
  private let outgoing: OutgoingHTTPClient
  /// A Boolean value that indicates whether a connection may have been kept, which the server may close at any time.
  private let mayReuse = Lock(false)

  /// - Throws: ``EngineError`` when `url` is no HTTP address.
  init(url: String, apiKey: APIKey? = nil, limits: EngineLimits) throws {
    let server = try Self.server(url)
    base = server.text
    self.apiKey = apiKey
    let authority = server.origin.firstRange(of: "://").map { String(server.origin[$0.upperBound...]) }
    secrets = KnownSecrets([apiKey?.secret, server.origin, authority])
    self.limits = limits

    var connections = OutgoingHTTPClient.Connections()
    connections.idleTimeout = .seconds(60)
    // As many as the HTTP server of a central has: a prompt waits for the engine, never for a connection.
    connections.keptPerHost = 128
    outgoing = OutgoingHTTPClient(connectTimeout: limits.connect, connections: connections)
  }

  private static func server(_ url: String) throws(EngineError) -> HTTPAddress {
    do throws(HTTPAddress.Fault) {
      return try HTTPAddress(url)
    } catch {
      throw switch error {
      case .notHTTP:
        EngineError(
          .unreachable, "the address of the engine is not an HTTP URL", hint: "use the form http://127.0.0.1:8080")
      case .credentials:
        EngineError(
          .unreachable, "the address of the engine contains a user name or password", hint: "use an API key instead")
      case .port:
        EngineError(.unreachable, "the port of the engine's address is out of range", hint: "allowed are 1 to 65535")
      }
    }
  }

  /// Fetches a small JSON document within the timeout of the state, without a task or a timer of its own: this is what an
  /// agent does again and again while it rests.
  func fetch(_ path: String) async throws -> (status: Int, body: Data) {
    let request = try HTTPClient.Request(url: base + path, headers: headers)
    let end = ContinuousClock.now + limits.state
    let response = try await repeatingLost {
      try await outgoing.response(
        to: request, upTo: Self.documentLimit, timeout: TimeAmount(ContinuousClock.now.duration(to: end)))
    }
    mayReuse.withLock { $0 = true }
    return (Int(response.status.code), response.body.map { Data($0.readableBytesView) } ?? Data())
  }

  /// The largest document that ``fetch(_:)`` reads: 4 MiB.
  private static let documentLimit = 4 << 20

  /// Posts a body and returns that of the reply, within the timeout of a first text.
  /// - Throws: ``EngineError``, ``RefusedReply`` for a status other than 2xx, or `CancellationError`.
  func post(_ path: String, body: Data) async throws -> Data {
    try await TimeSource.continuous.withLimit(limits.firstPiece, orThrow: Self.late) {
      let response = try await self.open(self.request(path, body: body))
      try await self.check(response)
      return try await self.collect(response.body, upTo: self.limits.wireBytes)
    }
  }

  /// Posts `body` and passes each piece of text and each call of a tool that `decoder` finds, and the end of the reply, to `deliver`.
  ///
  /// Returns when the reply is complete; cancelling the task closes the connection, which stops the generation.
  /// - Throws: ``EngineError``, ``RefusedReply`` for a status other than 2xx, or `CancellationError`.
  func stream(
    _ path: String, body: Data, decoder: any ReplyDecoder, deliver: @escaping @Sendable (EngineOutput) -> Void
  ) async throws {
    // No caller waits for an hour.
    let steps = ProgressLimits(first: limits.firstPiece, pause: limits.idle, total: .seconds(3600))
    try await TimeSource.continuous.withLimits(steps, orThrow: { Self.late }) { step in
      let response = try await self.open(self.request(path, body: body))
      try await self.check(response)
      try await self.read(response.body, as: decoder, step: step, deliver: deliver)
    }
  }

  /// Reads the body of a reply to its end, which a connection needs to be used again; after the end of the reply only a
  /// little.
  private func read(
    _ body: HTTPClientResponse.Body, as decoder: any ReplyDecoder, step: () -> Void,
    deliver: (EngineOutput) -> Void
  ) async throws {
    var reply = ReplyReader(limits: limits, decoder: decoder)
    var isComplete = false
    var rest = 0
    do {
      for try await chunk in body {
        if isComplete {
          rest += chunk.readableBytes
          guard rest <= 64 << 10 else { return }
          continue
        }
        let progress = try withoutSecrets { try reply.append(chunk.readableBytesView) }
        if progress.progressed { step() }
        for output in progress.outputs { deliver(output) }
        guard let completion = progress.completion else { continue }
        isComplete = true
        deliver(.end(completion))
      }
      mayReuse.withLock { $0 = true }
    } catch {
      // Whatever happens after the end of the reply happens to the connection alone.
      if isComplete { return }
      if error is EngineError || error is CancellationError { throw error }
      try Task.checkCancellation()
      throw EngineError.endedEarly
    }
    guard !isComplete else { return }
    let last = try withoutSecrets { try reply.end() }
    for output in last.outputs { deliver(output) }
    if let completion = last.completion { deliver(.end(completion)) }
  }

  /// Reads a part of a reply, whose errors may quote the key.
  private func withoutSecrets<Part>(_ read: () throws -> Part) throws -> Part {
    do { return try read() } catch var error as EngineError {
      error.message = secrets.removed(from: error.message)
      throw error
    }
  }

  /// - Throws: ``RefusedReply`` for a status other than 2xx.
  private func check(_ response: HTTPClientResponse) async throws {
    guard !(200..<300).contains(response.status.code) else { return }
    let text = try await collect(response.body, upTo: 64 << 10, truncating: true)
    throw RefusedReply(status: Int(response.status.code), body: Data(secrets.removed(from: [UInt8](text))))
  }

  private func request(_ path: String, body: Data) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: base + path)
    request.method = .POST
    request.headers = headers
    request.headers.add(name: "Content-Type", value: "application/json")
    request.body = .bytes(ByteBuffer(bytes: body))
    return request
  }

  /// The headers of each request.
  private var headers: HTTPHeaders {
    var headers: HTTPHeaders = ["Accept": "application/json, text/event-stream, application/x-ndjson"]
    if let apiKey { headers.add(name: "Authorization", value: "Bearer \(apiKey.secret)") }
    return headers
  }

  private func open(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
    // The timeouts of the caller apply first; this one only has to be later.
    let bound = TimeAmount(limits.firstPiece + limits.connect + limits.state)
    return try await repeatingLost { try await outgoing.execute(request, timeout: bound) }
  }

  /// Performs an exchange, and again when it has met the end of a kept connection.
  private func repeatingLost<Response>(_ exchange: () async throws -> Response) async throws -> Response {
    var attempts = 0
    while true {
      attempts += 1
      do {
        return try await exchange()
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        try Task.checkCancellation()
        guard mayRepeat(after: error, attempts) else { throw Self.openingError(error) }
      }
    }
  }

  /// Returns `true` if a request may have met the end of a kept connection, before the server has read it.
  ///
  /// A prompt that the server has read after all is answered twice, and heard once.
  private func mayRepeat(after error: any Error, _ attempts: Int) -> Bool {
    guard Self.isClosing(error) || error is ChannelError, attempts < Self.attemptLimit else { return false }
    return mayReuse.withLock { mayReuse in
      // The last attempt is the first one of a server without kept connections.
      defer { if attempts == Self.attemptLimit - 1 { mayReuse = false } }
      return mayReuse
    }
  }

  /// Returns `true` if the server has closed the connection before its reply was complete.
  private static func isClosing(_ error: any Error) -> Bool {
    (error as? HTTPClientError) == .remoteConnectionClosed
      || [ECONNRESET, EPIPE].contains((error as? IOError)?.errnoCode)
  }

  /// The number of attempts to send a request over connections that may have been kept.
  private static let attemptLimit = 3

  private func collect(_ body: HTTPClientResponse.Body, upTo limit: Int, truncating: Bool = false) async throws -> Data
  {
    var data = Data()
    do {
      for try await chunk in body {
        data.append(contentsOf: chunk.readableBytesView)
        if data.count > limit {
          guard truncating else { throw EngineError(.badReply, "the model server sent more than \(limit) bytes") }
          return data.prefix(limit)
        }
      }
      mayReuse.withLock { $0 = true }
    } catch let error as EngineError {
      throw error
    } catch {
      try Task.checkCancellation()
      guard truncating else { throw EngineError.endedEarly }
    }
    return data
  }

  private static var late: EngineError {
    EngineError(.timedOut, "the model server did not answer in time", hint: "the model may be too large for this host")
  }

  private static func openingError(_ error: any Error) -> EngineError {
    if isClosing(error) {
      return EngineError(.interrupted, "the model server closed the connection without a reply")
    }
    if let error = error as? HTTPClientError, error == .deadlineExceeded || error == .readTimeout { return late }
    if (error as? HTTPParserError) == .invalidEOFState { return EngineError.endedEarly }
    switch ConnectionFailure(error) {
    case .tooLong: return EngineError(.badReply, "the model server sent more than \(documentLimit) bytes")
    case .noProxy(let reason): return EngineError(.unreachable, "the model server cannot be reached: \(reason)")
    case .untrusted(let reason): return EngineError(.unreachable, "the model server cannot be trusted: \(reason.words)")
    case .notHTTP:
      return EngineError(.badReply, "the model server does not speak HTTP", hint: "check the port")
    default: break
    }
    return EngineError(
      .unreachable, "no model server answers", hint: "start the engine, or check its address")
  }
}

/// A response with a status other than 2xx, which the engines turn into an ``EngineError``.
struct RefusedReply: Error {
  let status: Int
  let body: Data

  /// Returns the message in the body, or the status if the body has another form.
  func message<Body: Decodable>(_ message: (Body) -> String) -> String {
    do { return message(try JSONDecoder().decode(Body.self, from: body)) } catch { return "status \(status)" }
  }
}
