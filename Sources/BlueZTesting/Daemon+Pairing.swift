import DBus

/// The interface `org.bluez.AgentManager1`, and pairing by Just Works, numeric comparison or passkey entry.
extension Daemon {
  func agentManager() -> ServedObject.Part {
    let agent = Interface.Argument("agent", "o")
    return ServedObject.Part(
      name: Names.agentManager,
      methods: [
        method("RegisterAgent", [agent, .init("capability", "s")]) { daemon, call in
          let client = try client(of: call)
          try daemon.expect(client.name)
          guard !daemon.agents.keys.contains(where: { $0.name == client.name }) else { throw DBusError.alreadyExists }
          daemon.agents[client] = call.arguments[1].string ?? ""
          return []
        },
        method("RequestDefaultAgent", [agent]) { daemon, call in
          let client = try client(of: call)
          guard daemon.agents[client] != nil else { throw DBusError.doesNotExist }
          daemon.defaultAgents.removeAll { $0 == client }
          daemon.defaultAgents.append(client)
          daemon.setPairable(true)
          return []
        },
        method("UnregisterAgent", [agent]) { daemon, call in
          guard daemon.drop(try client(of: call)) else { throw DBusError.doesNotExist }
          return []
        },
      ])
  }

  /// - Returns: `true` if there was such an agent.
  @discardableResult
  func drop(_ agent: VirtualAdapter.Client) -> Bool {
    guard agents.removeValue(forKey: agent) != nil else { return false }
    defaultAgents.removeAll { $0 == agent }
    if defaultAgents.isEmpty { setPairable(false) }
    return true
  }

  private func setPairable(_ pairable: Bool) {
    for adapter in adapters where adapter.replay == nil {
      adapter.object?.set(Names.adapter, ["Pairable": .bool(pairable)])
    }
  }

  // MARK: Pairing

  func pair(_ device: VirtualDevice, at adapter: VirtualAdapter, for client: String) async throws {
    guard device["Paired"]?.bool != true else { throw DBusError.alreadyExists }
    guard device.pairing == nil else { throw DBusError.inProgress }
    if device.link == nil { try await connect(device, at: adapter) }
    try await encrypt(device, at: adapter, for: client)
  }

  /// Encrypts a device's connection, by pairing when there are no keys.
  /// - Parameter client: The client that requires it, whose agent is preferred.
  func encrypt(_ device: VirtualDevice, at adapter: VirtualAdapter, for client: String = "") async throws {
    guard let link = device.link, let peer = peer(of: device), let other = peer.devices[adapter.address] else {
      throw DBusError.notConnected
    }
    defer { for at in [adapter, peer] { noteConnections(of: at) } }
    if let key = adapter.bonds[peer.address], peer.bonds[adapter.address] == key { link.key = key }
    guard link.key == nil else { return }
    guard device.pairing == nil else { throw DBusError.inProgress }
    guard isPairable(peer) else {
      throw DBusError.bluez("AuthenticationFailed", "Authentication Failed")
    }
    let own = agents.keys.first { $0.name == client } ?? defaultAgents.last
    let mine = device.object.path
    let theirs = other.object.path
    let shown = configuration.version.pairsAsDefaultAgent ? link.defaultAgent : own
    let questions = questions(own, as: shown, mine, peer.replay == nil ? defaultAgents.last : nil, theirs)
    let key = LinkKey(
      isAuthenticated: questions.contains { $0.member != "RequestAuthorization" },
      isSecure: ![adapter, peer].contains { $0.faults.has(.pairsWithoutSecureConnections) })
    let connection = try living()
    let pairing = Task { try await Self.ask(questions, over: connection) }
    device.pairing = pairing
    defer { device.pairing = nil }
    do {
      try await pairing.value
    } catch is CancellationError {
      throw DBusError.bluez("AuthenticationCanceled", "Authentication Canceled")
    } catch {
      logger.debug("pairing failed", metadata: ["error": "\(error)"])
      throw DBusError.bluez("AuthenticationFailed", "Authentication Failed")
    }
    guard device.link === link else { throw DBusError.bluez("AuthenticationCanceled", "Authentication Canceled") }
    link.key = key
    let keeps = [adapter, peer].allSatisfy(isPairable)
    for (side, at) in [(other, peer), (device, adapter)] {
      if keeps { at.bonds[side.address] = key }
      let shown = shownAddress(of: side.address, at: at)
      side.object.set(
        Names.device,
        [
          "Paired": true, "Bonded": .bool(keeps), "Address": .string(shown.address.description),
          "AddressType": .string(shown.type),
        ])
    }
  }

  /// A recorded device pairs with everybody, by Just Works.
  private func isPairable(_ adapter: VirtualAdapter) -> Bool {
    adapter.replay != nil || adapter.object?[Names.adapter, "Pairable"]?.bool == true
  }

  private struct Question: Sendable {
    var agent: VirtualAdapter.Client
    var member: String
    var arguments: [Value]
    /// The number that a user must enter; `nil` if both users enter one.
    var expected: UInt32?

    /// A Boolean value that indicates whether a user enters a number.
    var isEntry: Bool { member == "RequestPasskey" }
  }

  /// Both users entered a number, or one did, and it was another one.
  private struct WrongPasskey: Error {}

  /// Returns the requests to agents (Core Specification 3.H.2.3.5.1): to both sides for the same number where both can
  /// display one and answer; for the number that one side displays where the other can enter it; otherwise to the side
  /// that did not start.
  /// - Parameter shown: The agent whose capability the side that starts tells the other; `own` answers.
  private func questions(
    _ own: VirtualAdapter.Client?, as shown: VirtualAdapter.Client?, _ device: ObjectPath,
    _ other: VirtualAdapter.Client?, _ seen: ObjectPath
  ) -> [Question] {
    func isOf(_ capabilities: [String], _ agent: VirtualAdapter.Client?) -> Bool {
      // The empty capability is KeyboardDisplay.
      agent.flatMap { agents[$0] }.map { capabilities.contains($0.isEmpty ? "KeyboardDisplay" : $0) } ?? false
    }
    let compares = ["DisplayYesNo", "KeyboardDisplay"]
    let enters = ["KeyboardOnly", "KeyboardDisplay"]
    let displays = compares + ["DisplayOnly"]
    guard let other else { return [] }
    let passkey = UInt32.random(in: 0...999_999)
    func enter(_ agent: VirtualAdapter.Client, _ device: ObjectPath, _ expected: UInt32?) -> Question {
      Question(agent: agent, member: "RequestPasskey", arguments: [.objectPath(device)], expected: expected)
    }
    func display(_ agent: VirtualAdapter.Client, _ device: ObjectPath) -> Question {
      Question(
        agent: agent, member: "DisplayPasskey", arguments: [.objectPath(device), .uint32(passkey), .uint16(0)])
    }
    if let own, isOf(compares, shown), isOf(compares, other) {
      return [(own, device), (other, seen)].map { agent, device in
        Question(agent: agent, member: "RequestConfirmation", arguments: [.objectPath(device), .uint32(passkey)])
      }
    }
    if let own, isOf(displays, shown), isOf(enters, other) {
      return [display(own, device), enter(other, seen, passkey)]
    }
    if let own, isOf(enters, shown), isOf(displays, other) {
      return [display(other, seen), enter(own, device, passkey)]
    }
    if let own, isOf(enters, shown), isOf(enters, other) { return [enter(own, device, nil), enter(other, seen, nil)] }
    return [Question(agent: other, member: "RequestAuthorization", arguments: [.objectPath(seen)])]
  }

  /// Sends one request.
  /// - Returns: The number that the user entered; `nil` for any other request.
  private static func ask(_ question: Question, over connection: Connection) async throws -> UInt32? {
    let agent = question.agent
    guard question.member != "DisplayPasskey" else {
      // bluetoothd waits for no reply: the number is displayed while the other user enters it.
      try connection.callWithoutReply(agent.name, agent.path, Names.agent, question.member, question.arguments)
      return nil
    }
    let reply = try await connection.call(
      agent.name, agent.path, Names.agent, question.member, question.arguments,
      options: .init(returning: question.isEntry ? "u" : "", timeout: .seconds(30)))
    return question.isEntry ? reply.first?.integer() : nil
  }

  /// Sends all requests at once; those to the same agent, which has one at a time, in turn. When one is refused, or the
  /// pairing is cancelled, the others are withdrawn.
  private static func ask(_ questions: [Question], over connection: Connection) async throws {
    do {
      let entered = try await withThrowingTaskGroup(of: [UInt32].self) { group in
        for (_, own) in Dictionary(grouping: questions, by: \.agent) {
          group.addTask {
            var entered: [UInt32] = []
            for question in own {
              if let number = try await ask(question, over: connection) { entered.append(number) }
            }
            return entered
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      if Set(entered + questions.compactMap(\.expected)).count > 1 { throw WrongPasskey() }
      // The number need not be displayed any more.
      for question in questions where question.member == "DisplayPasskey" {
        try connection.callWithoutReply(question.agent.name, question.agent.path, Names.agent, "Cancel")
      }
    } catch {
      for question in questions {
        try? connection.callWithoutReply(question.agent.name, question.agent.path, Names.agent, "Cancel")
      }
      throw error
    }
  }
}
