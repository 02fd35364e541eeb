/// A reference to a session for something of the kernel's that ends with it, and that keeps the session as any handle
/// does.
struct SessionEnding: Sendable {
  private let session: Session
  private let id: Int?

  /// Registers a closure for the end of the session; it is called at once when the session has ended.
  init(_ session: Session, _ body: @escaping @Sendable () -> Void) {
    self.session = session
    id = session.core.onClose(body)
  }

  /// Withdraws the closure.
  func cancel() {
    if let id { session.core.stopObserving(id) }
  }
}
