import Streams

/// The answer to one call, for a method that gives it later.
///
/// The first answer counts. A reply that is let go without one answers with `org.freedesktop.DBus.Error.Failed`, so
/// that no caller waits for nothing.
public final class Reply: Sendable {
  private let send: Lock<(@Sendable (Result<[Value], any Error>) -> Void)?>

  init(_ send: @escaping @Sendable (Result<[Value], any Error>) -> Void) { self.send = Lock(send) }

  deinit { finish(.failure(DBusError(name: "org.freedesktop.DBus.Error.Failed", message: "nobody answered"))) }

  /// Answers; without effect after the first time.
  /// - Parameter result: values of the types the method declares, or an error, best a ``DBusError``.
  public func finish(_ result: Result<[Value], any Error>) {
    let send = send.withLock { send in
      defer { send = nil }
      return send
    }
    send?(result)
  }
}
