package import HTTPTypes
package import Hummingbird
package import NIOCore
internal import Timing

/// The limits on the body of every request: read as a whole before it is answered, whether anybody needs it or not.
///
/// A body that nobody reads would hold its connection for as long as something of it comes.
package struct IncomingBody: Sendable {
  /// A body that is refused.
  package enum Refusal: Error {
    /// It is longer than the limit, by what the request states or by what has come.
    case tooLarge
    /// It did not arrive within the timeout.
    case tooLate

    /// The status of the response: 413 or 408.
    package var status: HTTPResponse.Status { self == .tooLarge ? .contentTooLarge : .requestTimeout }
  }

  /// The limit in bytes. Default: 1 MiB.
  package var limit: Int
  /// The time for the whole body. Default: 20 s.
  package var timeout: Duration

  /// Creates limits; each property describes its default.
  package init(limit: Int = 1 << 20, timeout: Duration = .seconds(20)) {
    self.limit = limit
    self.timeout = timeout
  }

  /// Returns a request whose body has arrived.
  /// - Throws: ``Refusal``; `CancellationError`; an error of the connection.
  package func received(_ request: Request) async throws -> Request {
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit { throw Refusal.tooLarge }
    do {
      let body = try await TimeSource.continuous.withLimit(timeout, orThrow: Refusal.tooLate) { [limit] in
        try await request.body.collect(upTo: limit)
      }
      var received = request
      received.body = RequestBody(buffer: body)
      return received
    } catch is NIOTooManyBytesError {
      throw Refusal.tooLarge
    }
  }

  /// Returns the body of a request.
  /// - Throws: `HTTPError` with status 413 or 408; `CancellationError`; an error of the connection.
  package func bytes(of request: Request) async throws -> ByteBuffer {
    do {
      return try await received(request).body.collect(upTo: limit)
    } catch let refusal as Refusal {
      throw HTTPError(refusal.status, message: message(for: refusal))
    }
  }

  /// Returns the message of the response to a body that is refused.
  package func message(for refusal: Refusal) -> String {
    switch refusal {
    case .tooLarge: "the body exceeds \(limit) bytes"
    case .tooLate: "the body did not arrive within its timeout"
    }
  }
}
