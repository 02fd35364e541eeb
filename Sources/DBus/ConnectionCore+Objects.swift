internal import CDBus

/// The part of the connection that serves calls to exported objects.
extension ConnectionCore {
  private static let objectManager = "org.freedesktop.DBus.ObjectManager"

  /// Puts a received call into its object's mailbox or refuses it, on the connection's thread.
  func receiveCall(_ call: RawMessage) {
    let path = ObjectPath(validated: call.path)
    let (node, hasChildren) = state.withLock { state in
      let node = state.objects[path]
      return (node, node != nil || state.objects.keys.contains { $0.isWithin(path) })
    }
    if let node {
      if !node.mailbox.yield(call) {
        answer(
          call, .failure(DBusError(.limitExceeded, "\(ExportedObject.mailboxLimit) calls wait for \(path) already")))
      }
    } else if hasChildren, call.interface == "org.freedesktop.DBus.Introspectable", call.member == "Introspect" {
      // A path above an exported object; no object here requires an order of calls.
      answer(call, .success([.string(introspection(of: path))]))
    } else {
      answer(
        call,
        .failure(
          DBusError(
            name: "org.freedesktop.DBus.Error.UnknownObject", message: "no object is exported at \(path)")))
    }
  }

  /// Serves one call; the object's own task does this for one call after another.
  func serve(_ call: RawMessage) async {
    let path = ObjectPath(validated: call.path)
    let gone = DBusError(
      name: "org.freedesktop.DBus.Error.UnknownObject", message: "the object at \(path) was removed")
    guard let node = state.withLock({ $0.objects[path] }) else { return answer(call, .failure(gone)) }
    if call.reads { return await read(call, path, node) }
    do {
      if let values = try await result(of: call, path, node) { answer(call, .success(values)) }
    } catch is CancellationError {
      // The object was removed during the call.
      answer(call, .failure(gone))
    } catch {
      answer(call, .failure(error))
    }
  }

  /// The largest number of readings of properties that change meanwhile; no program changes them so fast for long.
  private static let mostReadings = 20

  /// Replies with the values of the properties at the time of the reply: a peer with a cache receives changes and replies
  /// in one order, and a reply older than a change before it would revert the change for good.
  private func read(_ call: RawMessage, _ path: ObjectPath, _ node: ExportedObject.Node) async {
    for reading in 1... {
      let before = announcements.withLock { $0 }
      let values: Result<[Value], any Error>
      do { values = .success(try await result(of: call, path, node) ?? []) } catch { values = .failure(error) }
      let isSent = announcements.withLock { now in
        guard now == before || reading == Self.mostReadings else { return false }
        answer(call, values)
        return true
      }
      if isSent { return }
    }
  }

  /// Sends a signal about exported objects or their properties.
  func announce(_ message: RawMessage) throws(DBusError) {
    try announcements.withLock { count throws(DBusError) in
      count += 1
      try send(message)
    }
  }

  /// - Returns: `nil` if the method replies later.
  private func result(of call: RawMessage, _ path: ObjectPath, _ node: ExportedObject.Node) async throws -> [Value]? {
    switch (call.interface, call.member) {
    case ("org.freedesktop.DBus.Introspectable", "Introspect"):
      return [.string(introspection(of: path))]
    case (RemoteObject.properties, _):
      return try await property(call, node)
    case (Self.objectManager, "GetManagedObjects") where node.isObjectManager:
      return [managedObjects(below: path)]
    default:
      break
    }
    guard let (interface, method) = method(call, node) else {
      throw DBusError(
        name: "org.freedesktop.DBus.Error.UnknownMethod",
        message: "\(path) has no method \(call.interface.map { $0 + "." } ?? "")\(call.member)")
    }
    let expected = method.input.map(\.type.description).joined()
    guard call.signature == expected else {
      throw DBusError(
        name: "org.freedesktop.DBus.Error.InvalidArgs",
        message: "\(interface).\(method.name) takes '\(expected)', not '\(call.signature)'")
    }
    let arguments = Interface.Call(sender: call.sender, path: path, arguments: call.values)
    switch method.handler {
    case .inTurn(let handler):
      return try checked(try await handler(arguments), interface, method)
    case .deferred(let handler):
      handler(
        arguments,
        Reply { [weak self] result in
          self?.answer(call, Result { () throws -> [Value] in try checked(try result.get(), interface, method) })
        })
      return nil
    }
  }

  private func method(_ call: RawMessage, _ node: ExportedObject.Node) -> (String, Interface.Method)? {
    for interface in node.interfaces where call.interface == nil || call.interface == interface.name {
      if let method = interface.methods.first(where: { $0.name == call.member }) { return (interface.name, method) }
    }
    return nil
  }

  private func property(_ call: RawMessage, _ node: ExportedObject.Node) async throws -> [Value] {
    let arguments = call.values
    let interface = node.interfaces.first { $0.name == arguments.first?.string }
    switch (call.member, call.signature) {
    case ("GetAll", "s"):
      // Standard interfaces have no properties, and generic tools ask for them all the same.
      return [.properties(interface?.values ?? [:])]
    case ("Get", "ss"), ("Set", "ssv"):
      guard let interface else {
        throw DBusError(
          name: "org.freedesktop.DBus.Error.UnknownInterface",
          message: "no interface \(arguments[0].string ?? "") here")
      }
      let name = arguments[1].string ?? ""
      guard let property = interface.properties.first(where: { $0.name == name }), let value = property.get() else {
        throw DBusError(
          name: "org.freedesktop.DBus.Error.UnknownProperty", message: "\(interface.name) has no property \(name)")
      }
      if call.member == "Get" { return [.variant(value)] }
      guard let set = property.set else {
        throw DBusError(
          name: "org.freedesktop.DBus.Error.PropertyReadOnly", message: "\(interface.name).\(name) is read-only")
      }
      let new = arguments[2].unwrapped
      guard new.signature == property.type else {
        throw DBusError(
          name: "org.freedesktop.DBus.Error.InvalidArgs",
          message: "\(interface.name).\(name) is a '\(property.type)', not a '\(new.signature)'")
      }
      try await set(new)
      return []
    default:
      throw DBusError(
        name: "org.freedesktop.DBus.Error.UnknownMethod",
        message: "Properties has no method \(call.member) that takes '\(call.signature)'")
    }
  }

  private func answer(_ call: RawMessage, _ result: Result<[Value], any Error>) {
    guard call.wantsReply else { return }
    do {
      switch result {
      case .success(let values):
        let reply = try RawMessage.reply(to: call)
        do {
          try reply.append(values)
          try send(reply)
        } catch  where error.code != .disconnected {
          try send(try RawMessage.error(to: call, error))
        }
      case .failure(let error):
        let named =
          error as? DBusError ?? DBusError(name: "org.freedesktop.DBus.Error.Failed", message: "\(error)")
        try send(try RawMessage.error(to: call, named))
      }
    } catch {
      // The caller learns of a lost connection from the bus; anything else would be a malformed error name.
      if error.code != .disconnected {
        logger.error("no reply to \(call.member) could be sent", metadata: ["error": "\(error)"])
      }
    }
  }

  // MARK: ObjectManager

  private func managedObjects(below root: ObjectPath) -> Value {
    let objects = state.withLock { $0.objects.filter { $0.key != root && $0.key.isWithin(root) } }
    return .dictionary(
      of: "oa{sa{sv}}",
      objects.sorted { $0.key < $1.key }.map { path, node in
        Value.Entry(.objectPath(path), Self.interfaceValues(node.interfaces))
      })
  }

  private static func interfaceValues(_ interfaces: [Interface]) -> Value {
    .dictionary(of: "sa{sv}", interfaces.map { Value.Entry(.string($0.name), .properties($0.values)) })
  }

  func announce(_ path: ObjectPath, _ interfaces: [Interface]) {
    emitFromManager(of: path, "InterfacesAdded", [.objectPath(path), Self.interfaceValues(interfaces)])
  }

  func announceRemoval(_ path: ObjectPath, _ interfaces: [Interface]) {
    emitFromManager(of: path, "InterfacesRemoved", [.objectPath(path), .strings(interfaces.map(\.name))])
  }

  private func emitFromManager(of path: ObjectPath, _ member: String, _ arguments: [Value]) {
    let managers = state.withLock { $0.objectManagers }
    for manager in managers.sorted() where manager != path && path.isWithin(manager) {
      do {
        let message = try RawMessage.signal(path: manager, interface: Self.objectManager, member: member)
        try message.append(arguments)
        try announce(message)
      } catch {
        if error.code != .disconnected {
          logger.error("\(member) could not be sent", metadata: ["error": "\(error)"])
        }
      }
    }
  }
}

extension RawMessage {
  /// Whether this asks for properties, of one object or of many.
  fileprivate var reads: Bool {
    switch interface {
    case RemoteObject.properties: member == "Get" || member == "GetAll"
    case "org.freedesktop.DBus.ObjectManager": member == "GetManagedObjects"
    default: false
    }
  }
}

/// What a method returned, if it is what it declares.
private func checked(_ output: [Value], _ interface: String, _ method: Interface.Method) throws -> [Value] {
  let declared = method.output.map(\.type.description).joined()
  let returned = output.map(\.signatureText).joined()
  guard returned == declared else {
    throw DBusError(
      name: "org.freedesktop.DBus.Error.Failed",
      message: "\(interface).\(method.name) is declared to return '\(declared)' and returned '\(returned)'")
  }
  return output
}
