import Testing

@testable import SpeedTest

extension ClientConnection {
  /// Accepts text as the bytes of a server.
  mutating func receive(_ text: String, at now: Duration = .zero) throws(SpeedTestError) -> [Action] {
    try receive(Array(text.utf8), at: now)
  }

  /// Accepts bytes of a server.
  mutating func receive(_ bytes: [UInt8], at now: Duration = .zero) throws(SpeedTestError) -> [Action] {
    var result: Result<[Action], SpeedTestError> = .success([])
    bytes.withUnsafeBytes { buffer in
      do throws(SpeedTestError) {
        result = .success(try receive(buffer, at: now))
      } catch {
        result = .failure(error)
      }
    }
    return try result.get()
  }

  /// A connection that is authorised.
  static func ready(_ limits: Limits = Limits()) throws -> ClientConnection {
    var connection = ClientConnection(token: "t", limits: limits, at: .zero)
    _ = try connection.receive("RMBTv1.3.5\nACCEPT TOKEN QUIT\n")
    _ = try connection.receive("OK\nCHUNKSIZE 4096 4096 4194304\n\(accept)")
    return connection
  }
}

extension ServerConnection {
  /// Accepts text as the bytes of a client.
  mutating func receive(_ text: String, at now: Duration = .zero) -> [Action] {
    Array(text.utf8).withUnsafeBytes { receive($0, at: now) }
  }

  /// Accepts bytes of a client.
  mutating func receive(_ bytes: [UInt8], at now: Duration = .zero) -> [Action] {
    bytes.withUnsafeBytes { receive($0, at: now) }
  }

  /// A connection that is authorised.
  static func ready() -> ServerConnection {
    var connection = ServerConnection(at: .zero)
    _ = connection.receive("TOKEN t\n")
    _ = connection.tokenVerified(.accepted(delay: .zero), at: .zero)
    return connection
  }
}

extension ServerConnection {
  /// An authorised connection of a browser.
  static func framed(isOpen: Bool = true) -> ServerConnection {
    var connection = ServerConnection(isOpen: isOpen, at: .zero)
    _ = connection.receive(WebSocketTests.handshake())
    _ = connection.receive(WebSocketTests.frame(.text, "TOKEN t\n"))
    _ = connection.tokenVerified(.accepted(delay: .zero), at: .zero)
    return connection
  }
}

/// The line that ends every command.
let accept = "ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT\n"

/// Chunks of a size, of which the last one is marked.
func chunks(_ count: Int, of size: Int, last: UInt8 = 0xff) -> [UInt8] {
  (1...count).flatMap { number in
    [UInt8](repeating: 0xff, count: size - 1) + [number == count ? last : 0]
  }
}

/// The report of the exchange that the actions finish.
func report(_ actions: [ClientConnection.Action]) throws -> ExchangeReport {
  let reports = actions.compactMap { action -> ExchangeReport? in
    if case .finished(let report) = action { report } else { nil }
  }
  return try #require(reports.first)
}
