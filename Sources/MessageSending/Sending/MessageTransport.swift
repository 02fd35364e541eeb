/// A way by which sealed messages reach the server, or a relay that passes them on.
///
/// A transport makes no difference between messages and covers, which it cannot tell apart. It neither repeats nor
/// delays a message by itself; the schedule does.
///
/// ```swift
/// struct Printer: MessageTransport {
///   func send(_ message: SealedMessage) async throws { print(message.bytes.count, "bytes") }
/// }
/// ```
public protocol MessageTransport: Sendable {
  /// Sends a message and returns when the receiver has accepted it.
  /// - Throws: An error when the receiver has not accepted the message, or when that is unknown. Cancelling the task
  ///   cancels the attempt.
  func send(_ message: SealedMessage) async throws
}
