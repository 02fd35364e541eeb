internal import ErrorReporting

/// A transport that hands each message to a relay near by, which passes it on by a schedule of its own.
///
/// Each message has a channel of its own and one packet of the same size in each direction, whatever the message.
///
/// ```swift
/// func transport(_ open: @escaping @Sendable () async throws -> any RelayChannel) -> RelayTransport {
///   RelayTransport { try await open() }
/// }
/// ```
public struct RelayTransport: MessageTransport {
  private let open: @Sendable () async throws -> any RelayChannel

  /// Creates a transport over channels that a closure opens.
  /// - Parameter open: A closure that opens a channel to the relay, for each message anew.
  public init(open: @escaping @Sendable () async throws -> any RelayChannel) { self.open = open }

  /// Sends a message and returns when it is on the relay's disk.
  /// - Throws: ``MessageSendingError`` with code `.notSent`; `CancellationError`.
  public func send(_ message: SealedMessage) async throws {
    let channel: any RelayChannel
    do {
      channel = try await open()
    } catch {
      throw try Self.failure(error, "open a channel to the relay")
    }
    let answer: [UInt8]?
    do {
      try await channel.send(RelayPacket.encode(message))
      answer = try await channel.receive()
    } catch {
      await channel.close()
      throw try Self.failure(error, "hand a message to the relay")
    }
    await channel.close()
    switch answer.flatMap(RelayAnswer.init) {
    case .stored?: return
    case .refused?: throw MessageSendingError(.notSent, "the relay has refused a message for now")
    case .malformed?: throw MessageSendingError(.notSent, "the relay does not know messages of this version")
    case nil: throw MessageSendingError(.notSent, "the relay has closed the channel without an answer")
    }
  }

  private static func failure(_ error: any Error, _ doing: String) throws -> MessageSendingError {
    if error is CancellationError { throw error }
    return error as? MessageSendingError ?? MessageSendingError(.notSent, "\(doing): \(error.safeText)")
  }
}
