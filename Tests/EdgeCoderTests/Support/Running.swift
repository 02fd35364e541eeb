@testable import EdgeCoder

/// Runs services while the body runs.
func running<Value: Sendable>(
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
    throw LoopbackError("the body did not end")
  }
}

/// Waits until a condition holds; the test's time limit bounds it. Resting between the looks, because hundreds of tests
/// share a few threads.
func eventually(_ condition: @Sendable () async throws -> Bool) async throws {
  while try await !condition() { try await Task.sleep(for: .milliseconds(1)) }
}

/// A central by hand: one connection, and the replies that came over it.
final class HandCentral: Sendable {
  let connection: LoopbackConnection
  private let replies: AsyncStream<Wire.Response>
  private let statuses: AsyncStream<Wire.Status>

  init(_ phone: LoopbackPhone, _ name: String = "hand", mtu: Int = 517) async throws {
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

  func write(_ text: String) async throws { try await write(Array(text.utf8)) }

  func write(_ bytes: [UInt8]) async throws {
    let mtu = connection.mtu
    for piece in Chunker.chunks(of: bytes, size: Chunker.requestSize(mtu: mtu)) {
      try await connection.write(Array(piece))
    }
  }

  func request(_ id: String, _ prompt: String, maxTokens: Int? = nil) async throws {
    try await write(Wire.Request(id: id, prompt: prompt, maxTokens: maxTokens).encoded())
  }

  /// The next reply; `nil` when the link has ended.
  func reply() async -> Wire.Response? { await replies.first { _ in true } }

  /// The next status; `nil` when the link has ended.
  func status() async -> Wire.Status? { await statuses.first { _ in true } }
}
