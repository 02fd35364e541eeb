internal import CDBus
import Streams
import Timing

/// One call that waits for its reply.
final class PendingCall: Sendable {
  let reply = Handoff<RawMessage>()
  /// Monotonic nanoseconds; `nil` waits for ever.
  let deadline: UInt64?
  /// The signature a reply must have; `nil` takes any.
  let returning: Signature?
  /// Sees a good reply on the connection's thread, before anything that came after it.
  let onArrival: (@Sendable ([Value]) -> Void)?

  init(deadline: UInt64?, returning: Signature?, onArrival: (@Sendable ([Value]) -> Void)?) {
    self.deadline = deadline
    self.returning = returning
    self.onArrival = onArrival
  }
}

extension ConnectionCore {
  func call(
    _ message: RawMessage, returning: Signature? = nil, timeout: Duration?,
    onArrival: (@Sendable ([Value]) -> Void)? = nil
  ) async throws -> RawMessage {
    let call = PendingCall(
      deadline: timeout.map { WatchLoop.now() &+ $0.wholeNanoseconds }, returning: returning, onArrival: onArrival)
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      var wake = false
      try send(message) { number, state in
        guard state.closeReason == nil else { return call.reply.finish(.failure(self.stopped)) }
        state.pending[number] = call
        if let deadline = call.deadline, deadline < state.nextDeadline ?? .max {
          state.nextDeadline = deadline
          wake = true
        }
      }
      if wake { loop.wake() }
      return try await call.reply.wait()
    } onCancel: {
      // Before the send this finds nothing and `finish` alone ends the call; the reply, when it comes, is dropped.
      // Calls are cancelled seldom, so looking for this one costs less than every call remembering its serial.
      state.withLock { state in
        if let entry = state.pending.first(where: { $0.value === call }) { state.pending[entry.key] = nil }
      }
      call.reply.finish(.failure(CancellationError()))
    }
  }

  func receiveReply(_ message: OpaquePointer) {
    let serial = dbus_message_get_reply_serial(message)
    guard let call = state.withLock({ $0.pending.removeValue(forKey: serial) }) else { return }
    let reply = RawMessage(retaining: message)
    if dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_ERROR {
      call.reply.finish(.failure(reply.error))
    } else if let returning = call.returning, dbus_message_has_signature(message, returning.description) == 0 {
      call.reply.finish(
        .failure(DBusError(.unexpectedReply, "the peer answered '\(reply.signature)' instead of '\(returning)'")))
    } else {
      call.onArrival?(reply.values)
      call.reply.finish(.success(reply))
    }
  }

  func expireCalls() {
    let now = WatchLoop.now()
    let expired = state.withLock { state -> [PendingCall] in
      guard let next = state.nextDeadline, next <= now else { return [] }
      var expired: [PendingCall] = []
      state.nextDeadline = nil
      for (serial, call) in state.pending {
        guard let deadline = call.deadline else { continue }
        if deadline <= now {
          expired.append(call)
          state.pending[serial] = nil
        } else if deadline < state.nextDeadline ?? .max {
          state.nextDeadline = deadline
        }
      }
      return expired
    }
    for call in expired { call.reply.finish(.failure(DBusError(.timedOut, "no reply within the call's time-out"))) }
  }
}
