internal import CDBus

extension Connection {
  /// The bus's reply to a request for a name.
  public enum NameReply: UInt32, Sendable {
    /// The connection owns the name now.
    case owner = 1
    /// Another connection owns the name; this one waits in the queue for it.
    case queued = 2
    /// Another connection owns the name, and this one does not wait for it.
    case taken = 3
    /// The connection owned the name before the request.
    case alreadyOwner = 4
  }

  /// Requests a well-known name for this connection.
  /// - Parameters:
  ///   - name: The name, such as `org.example.Service`.
  ///   - queue: Whether to wait in the queue if another connection owns the name.
  ///   - replace: Whether to replace an owner that allows it.
  ///   - allowReplacement: Whether another connection may replace this one.
  /// - Throws: ``DBusError``, for instance `org.freedesktop.DBus.Error.AccessDenied` when the policy forbids it.
  public func requestName(
    _ name: String, queue: Bool = false, replace: Bool = false, allowReplacement: Bool = false
  ) async throws -> NameReply {
    let flags: UInt32 = (allowReplacement ? 1 : 0) | (replace ? 2 : 0) | (queue ? 0 : 4)
    let reply = try await busCall("RequestName", [.string(name), .uint32(flags)])
    guard let code = reply.first?.integer(as: UInt32.self), let result = NameReply(rawValue: code) else {
      throw DBusError(.unexpectedReply, "the bus replied to RequestName with \(reply)")
    }
    return result
  }

  /// Releases a well-known name; without effect if another connection owns it.
  /// - Throws: ``DBusError``.
  public func releaseName(_ name: String) async throws {
    _ = try await busCall("ReleaseName", [.string(name)])
  }

  /// Returns the unique name of the connection that owns a name.
  /// - Returns: `nil` if the name has no owner.
  /// - Throws: ``DBusError``.
  public func owner(of name: String) async throws -> String? {
    do {
      return try await busCall("GetNameOwner", [.string(name)]).first?.string
    } catch let error as DBusError where error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" {
      return nil
    }
  }

  /// Returns the process ID of the owner of a name.
  /// - Throws: ``DBusError``, with `org.freedesktop.DBus.Error.NameHasNoOwner` if the name has no owner.
  public func processID(of name: String) async throws -> Int32 {
    let reply = try await busCall("GetConnectionUnixProcessID", [.string(name)])
    guard let pid = reply.first?.integer(as: Int32.self) else {
      throw DBusError(.unexpectedReply, "the bus replied to GetConnectionUnixProcessID with \(reply)")
    }
    return pid
  }

  /// Subscribes a handler to the changes of a name's owner, like ``observe(_:onEnd:handler:)``.
  /// - Throws: ``DBusError``; `CancellationError`.
  public func observeOwner(
    of name: String, handler: @escaping @Sendable (NameOwnerChange) -> Void
  ) async throws -> Subscription {
    try Name.check(.bus, name)
    return try await observe(ConnectionCore.ownerRule(name)) { signal in
      if let change = NameOwnerChange(signal) { handler(change) }
    }
  }

  private func busCall(_ member: String, _ arguments: [Value]) async throws -> [Value] {
    try await core.busCall(member, arguments).values
  }
}
