internal import CDBus
import Timing

/// A call that waits for its reply.
final class PendingCall: Sendable {
  let reply = Handoff<RawMessage>()
  /// The deadline in monotonic nanoseconds; `nil` for none.
  let deadline: UInt64?
  let options: CallOptions

  init(_ options: CallOptions) {
    deadline = options.timeout.map { WatchLoop.now() &+ $0.wholeNanoseconds }
    self.options = options
  }
}

extension ConnectionCore {
  func call(_ message: RawMessage, _ options: CallOptions) async throws -> RawMessage {
    let call = PendingCall(options)
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
      // Before the send this finds nothing and `finish` alone ends the call; a later reply is dropped.
      // Calls are rarely cancelled, so this search costs less than a serial number in every call.
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
    } else if let returning = call.options.returning, dbus_message_has_signature(message, returning.description) == 0 {
      call.reply.finish(
        .failure(DBusError(.unexpectedReply, "the reply has the signature '\(reply.signature)', not '\(returning)'")))
    } else {
      call.options.onArrival?(reply.values)
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
    for call in expired {
      let limit = call.options.timeout.map { " after \($0)" } ?? ""
      call.reply.finish(.failure(DBusError(.timedOut, "the call timed out\(limit)")))
    }
  }
}
