internal import CDBus
import Glibc

/// A subscription's rule and handlers.
struct Subscriber: Sendable {
  let id: Int
  let rule: MatchRule
  let handler: @Sendable (Signal) -> Void
  /// Runs once, when the connection has ended.
  let onEnd: @Sendable () -> Void
}

/// The owner of a well-known name that subscriptions have as their sender.
struct OwnerTracking: Sendable {
  let ready: Task<Void, any Error>
  var uses = 0
  var owner: String?
  /// Whether the bus has reported a change since the tracking began.
  var changed = false
}

/// A match rule at the bus, with the number of subscriptions that need it.
struct RuleUse: Sendable {
  let added: Task<Void, any Error>
  var count = 0
}

/// The names of a signal as Swift strings. Most signals have the names of the one before, and comparing is cheaper
/// than making new strings.
struct SignalNames {
  private(set) var sender: String?
  private(set) var path: String?
  private(set) var interface: String?
  private(set) var member: String?

  mutating func update(from message: OpaquePointer) {
    Self.update(&sender, dbus_message_get_sender(message))
    Self.update(&path, dbus_message_get_path(message))
    Self.update(&interface, dbus_message_get_interface(message))
    Self.update(&member, dbus_message_get_member(message))
  }

  private static func update(_ name: inout String?, _ text: UnsafePointer<CChar>?) {
    guard let text else { return name = nil }
    if let known = name, known.withCString({ strcmp($0, text) }) == 0 { return }
    name = String(cString: text)
  }
}

extension ConnectionCore {
  func receiveSignal(_ message: OpaquePointer) {
    if dbus_message_is_signal(message, DBUS_INTERFACE_LOCAL, "Disconnected") != 0 {
      return ended(DBusError(.disconnected, "the bus closed the connection", hint: "is the message bus still running?"))
    }
    let (subscribers, owners) = state.withLock { ($0.subscriptions, $0.owners) }
    var signal: Signal?
    for subscriber in subscribers where matches(subscriber.rule, message, owners) {
      let made = signal ?? self.signal(message)
      signal = made
      if let argument = subscriber.rule.argument0, made.arguments.first?.string != argument { continue }
      subscriber.handler(made)
    }
  }

  private func signal(_ message: OpaquePointer) -> Signal {
    lastSignal.update(from: message)
    return Signal(
      sender: lastSignal.sender, path: ObjectPath(validated: lastSignal.path ?? "/"),
      interface: lastSignal.interface ?? "", member: lastSignal.member ?? "",
      arguments: MessageReader.values(of: message))
  }

  private func matches(_ rule: MatchRule, _ message: OpaquePointer, _ owners: [String: OwnerTracking]) -> Bool {
    if let member = rule.member, dbus_message_has_member(message, member) == 0 { return false }
    if let interface = rule.interface, dbus_message_has_interface(message, interface) == 0 { return false }
    if let path = rule.path, dbus_message_has_path(message, path.description) == 0 { return false }
    if let namespace = rule.pathNamespace {
      guard let path = dbus_message_get_path(message).map({ String(cString: $0) }),
        ObjectPath(validated: path).isWithin(namespace)
      else { return false }
    }
    if let sender = rule.sender, uniqueName != nil {
      // A well-known name stands for its owner; the bus's own name is its owner.
      let unique =
        sender.hasPrefix(":") || sender == DBUS_SERVICE_DBUS ? sender : owners[sender]?.owner
      guard let unique, dbus_message_has_sender(message, unique) != 0 else { return false }
    }
    return true
  }

  /// Adds a subscription, and its rule at the bus if no other subscription has it.
  func subscribe(
    _ rule: MatchRule, handler: @escaping @Sendable (Signal) -> Void, onEnd: @escaping @Sendable () -> Void
  ) async throws -> Int {
    if let sender = rule.sender, !sender.hasPrefix(":"), sender != DBUS_SERVICE_DBUS { try await track(sender) }
    let text = try rule.text()
    let (id, added) = try state.withLock { state throws(DBusError) in
      if let reason = state.closeReason { throw reason }
      let id = state.nextSubscription
      state.nextSubscription += 1
      state.subscriptions.append(Subscriber(id: id, rule: rule, handler: handler, onEnd: onEnd))
      var use = state.rules[text] ?? RuleUse(added: Task { try await self.addMatch(text) })
      use.count += 1
      state.rules[text] = use
      return (id, use.added)
    }
    do {
      // All of them wait for the one AddMatch: when the call returns, no later signal is missed.
      try await added.value
      try Task.checkCancellation()
    } catch {
      unsubscribe(id)
      throw error
    }
    return id
  }

  func unsubscribe(_ id: Int) {
    let (subscriber, last) = state.withLock { state -> (Subscriber?, String?) in
      guard let index = state.subscriptions.firstIndex(where: { $0.id == id }) else { return (nil, nil) }
      let subscriber = state.subscriptions.remove(at: index)
      // The text was made once from this very rule, so it can be made again.
      guard let text = try? subscriber.rule.text(), var use = state.rules[text] else { return (subscriber, nil) }
      use.count -= 1
      state.rules[text] = use.count > 0 ? use : nil
      return (subscriber, use.count > 0 ? nil : text)
    }
    guard let subscriber else { return }
    if let last { busSend("RemoveMatch", [.string(last)]) }
    if let sender = subscriber.rule.sender { untrack(sender) }
  }

  /// Tracks the owner of a well-known name, so that signals of other peers do not match.
  private func track(_ name: String) async throws {
    guard uniqueName != nil else { return }
    try Name.check(.bus, name)
    let ready = try state.withLock { state throws(DBusError) in
      if let reason = state.closeReason { throw reason }
      if state.owners[name] == nil {
        state.owners[name] = OwnerTracking(ready: Task { try await self.findOwner(of: name) })
        state.subscriptions.append(
          Subscriber(
            id: -1, rule: Self.ownerRule(name), handler: { [weak self] in self?.ownerChanged($0) }, onEnd: {}))
      }
      state.owners[name]?.uses += 1
      return state.owners[name]?.ready
    }
    do {
      try await ready?.value
    } catch {
      untrack(name)
      throw error
    }
  }

  private func findOwner(of name: String) async throws {
    try await addMatch(try Self.ownerRule(name).text())
    do {
      let owner = try await busCall("GetNameOwner", [.string(name)]).values.first?.string
      // A change that arrived meanwhile is as new as this reply, or newer.
      state.withLock { if $0.owners[name]?.changed == false { $0.owners[name]?.owner = owner } }
    } catch let error as DBusError where error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" {
      // No owner yet; NameOwnerChanged reports the first one.
    }
  }

  private func addMatch(_ text: String) async throws {
    if uniqueName != nil { _ = try await busCall("AddMatch", [.string(text)]) }
  }

  private func untrack(_ name: String) {
    let last = state.withLock { state in
      guard let tracking = state.owners[name] else { return false }
      guard tracking.uses <= 1 else {
        state.owners[name]?.uses -= 1
        return false
      }
      state.owners[name] = nil
      state.subscriptions.removeAll { $0.id == -1 && $0.rule.argument0 == name }
      return true
    }
    if last, let rule = try? Self.ownerRule(name).text() { busSend("RemoveMatch", [.string(rule)]) }
  }

  private func ownerChanged(_ signal: Signal) {
    guard let change = NameOwnerChange(signal) else { return }
    state.withLock { state in
      state.owners[change.name]?.owner = change.newOwner
      state.owners[change.name]?.changed = true
    }
  }

  static func ownerRule(_ name: String) -> MatchRule {
    MatchRule(
      sender: DBUS_SERVICE_DBUS, path: "/org/freedesktop/DBus", interface: DBUS_INTERFACE_DBUS,
      member: "NameOwnerChanged", argument0: name)
  }

  func busCall(_ member: String, _ arguments: [Value]) async throws -> RawMessage {
    let message = try RawMessage.call(
      destination: DBUS_SERVICE_DBUS, path: "/org/freedesktop/DBus", interface: DBUS_INTERFACE_DBUS, member: member)
    try message.append(arguments)
    return try await call(message, CallOptions())
  }

  /// Sends a call to the bus whose reply does not matter.
  private func busSend(_ member: String, _ arguments: [Value]) {
    do {
      let message = try RawMessage.call(
        destination: DBUS_SERVICE_DBUS, path: "/org/freedesktop/DBus", interface: DBUS_INTERFACE_DBUS, member: member)
      try message.append(arguments)
      dbus_message_set_no_reply(message.pointer, 1)
      try send(message)
    } catch {
      // A closed connection has forgotten its match rules by itself.
      if error.code != .disconnected { logger.warning("\(member) failed", metadata: ["error": "\(error)"]) }
    }
  }
}
