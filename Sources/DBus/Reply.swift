import Streams

/// The pending reply to one call, for a method that replies later.
///
/// Only the first result is sent. A reply that is released without one sends `org.freedesktop.DBus.Error.Failed`, so that
/// no caller waits in vain.
///
/// ```swift
/// let confirm = Interface.Method("Confirm", out: [.init("yes", "b")], deferred: { call, reply in
///   Task {
///     try await Task.sleep(for: .seconds(1))
///     reply.finish(.success([true]))
///   }
/// })
/// ```
public final class Reply: Sendable {
  private let send: Lock<(@Sendable (Result<[Value], any Error>) -> Void)?>

  init(_ send: @escaping @Sendable (Result<[Value], any Error>) -> Void) { self.send = Lock(send) }

  deinit { finish(.failure(DBusError(name: "org.freedesktop.DBus.Error.Failed", message: "the method did not reply"))) }

  /// Sends the result; further calls have no effect.
  /// - Parameter result: The values, of the types that the method declares, or an error, preferably a ``DBusError``.
  public func finish(_ result: Result<[Value], any Error>) {
    let send = send.withLock { send in
      defer { send = nil }
      return send
    }
    send?(result)
  }
}
