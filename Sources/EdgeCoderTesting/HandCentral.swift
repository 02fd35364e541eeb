public import EdgeCoder

/// Runs services while the body runs, and returns its result.
///
/// The services are cancelled when the body returns.
public func running<Value: Sendable>(
  _ services: [@Sendable () async -> Void], _ body: @Sendable @escaping () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value?.self) { group in
    for service in services {
      group.addTask {
        await service()
        return nil
      }
    }
    group.addTask { try await body() }
    defer { group.cancelAll() }
    while let result = try await group.next() {
      if let value = result { return value }
    }
    throw LoopbackError("the body did not finish")
  }
}

/// A central without state machines: one connection, and the replies that arrived over it.
///
/// ```swift
/// import EdgeCoder
///
/// let phone = LoopbackPhone()
/// let service = PhoneService(transport: phone, engine: EchoEngine())
/// try await running([service.run]) {
///   let central = try await HandCentral(phone)
///   try await central.request("1", "Hello")
///   print(await central.reply()?.answer as Any)
/// }
/// ```
public final class HandCentral: Sendable {
  /// The connection to the phone.
  public let connection: LoopbackConnection
  private let replies: AsyncStream<Wire.Response>
  private let statuses: AsyncStream<Wire.Status>

  /// Connects to a phone and subscribes to its replies.
  public init(_ phone: LoopbackPhone, _ name: String = "hand", mtu: Int = 517) async throws {
    connection = try await phone.connect(PeerID("/loopback/" + name), mtu: mtu)
    let (replies, repliesIn) = AsyncStream<Wire.Response>.makeStream()
    let (statuses, statusesIn) = AsyncStream<Wire.Status>.makeStream()
    self.replies = replies
    self.statuses = statuses
    let events = connection.events
    Task {
      var scanner = JSONObjectScanner()
      var statusScanner = JSONObjectScanner()
      for await case .notification(let characteristic, let bytes) in events {
        if characteristic == .status {
          for case .object(let object) in statusScanner.receive(bytes, at: .zero) {
            statusesIn.yield(try Wire.Status.decode(object))
          }
        } else {
          for case .object(let object) in scanner.receive(bytes, at: .zero) {
            repliesIn.yield(try Wire.Response.decode(object))
          }
        }
      }
      repliesIn.finish()
      statusesIn.finish()
    }
    try await connection.subscribe(to: .response)
  }

  /// Writes text to the request characteristic, in chunks.
  public func write(_ text: String) async throws { try await write(Array(text.utf8)) }

  /// Writes bytes to the request characteristic, in chunks.
  public func write(_ bytes: [UInt8]) async throws {
    let mtu = connection.mtu
    for piece in Chunker.chunks(of: bytes, size: Chunker.requestSize(mtu: mtu)) {
      try await connection.write(Array(piece))
    }
  }

  /// Sends a request with an identifier and a prompt.
  public func request(_ id: String, _ prompt: String, maxTokens: Int? = nil) async throws {
    try await write(Wire.Request(id: id, prompt: prompt, maxTokens: maxTokens).encoded())
  }

  /// Waits for the next reply; `nil` when the connection has closed.
  public func reply() async -> Wire.Response? { await replies.first { _ in true } }

  /// Waits for the next status; `nil` when the connection has closed.
  public func status() async -> Wire.Status? { await statuses.first { _ in true } }
}
