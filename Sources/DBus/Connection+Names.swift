internal import CDBus

extension Connection {
  /// What the bus said to a request for a name.
  public enum NameReply: UInt32, Sendable {
    /// The name is ours now.
    case owner = 1
    /// Somebody has it; we get it when they let go.
    case queued = 2
    /// Somebody has it and we did not want to wait.
    case taken = 3
    /// It was ours already.
    case alreadyOwner = 4
  }

  /// Asks for a well-known name.
  /// - Parameters:
  ///   - name: such as `org.example.Service`.
  ///   - queue: whether to wait in line when somebody else has it.
  ///   - replace: whether to take it from an owner who allows that.
  ///   - allowReplacement: whether others may take it from us.
  /// - Throws: ``DBusError``, for instance `org.freedesktop.DBus.Error.AccessDenied` when the policy forbids it.
  public func requestName(
    _ name: String, queue: Bool = false, replace: Bool = false, allowReplacement: Bool = false
  ) async throws -> NameReply {
    let flags: UInt32 = (allowReplacement ? 1 : 0) | (replace ? 2 : 0) | (queue ? 0 : 4)
    let reply = try await busCall("RequestName", [.string(name), .uint32(flags)])
    guard let code = reply.first?.integer(as: UInt32.self), let result = NameReply(rawValue: code) else {
      throw DBusError(.unexpectedReply, "the bus answered RequestName with \(reply)")
    }
    return result
  }

  /// Gives a well-known name back; without effect when it is not ours.
  /// - Throws: ``DBusError``.
  public func releaseName(_ name: String) async throws {
    _ = try await busCall("ReleaseName", [.string(name)])
  }

  /// The unique name of whoever owns a name.
  /// - Returns: `nil` when nobody does.
  /// - Throws: ``DBusError``.
  public func owner(of name: String) async throws -> String? {
    do {
      return try await busCall("GetNameOwner", [.string(name)]).first?.string
    } catch let error as DBusError where error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" {
      return nil
    }
  }

  /// The process behind a name.
  /// - Throws: ``DBusError``, with `org.freedesktop.DBus.Error.NameHasNoOwner` when nobody owns it.
  public func processID(of name: String) async throws -> Int32 {
    let reply = try await busCall("GetConnectionUnixProcessID", [.string(name)])
    guard let pid = reply.first?.integer(as: Int32.self) else {
      throw DBusError(.unexpectedReply, "the bus answered GetConnectionUnixProcessID with \(reply)")
    }
    return pid
  }

  /// Has a handler called whenever a name gets, changes or loses its owner; as ``observe(_:onEnd:handler:)``.
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
