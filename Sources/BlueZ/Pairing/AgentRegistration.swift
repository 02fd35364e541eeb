import DBus
import Streams

/// The registration of a pairing agent, which lasts as long as this object exists or until ``unregister()``.
public final class AgentRegistration: Registration {
  /// The agent that makes the decisions.
  public let agent: PairingAgent
  let place = RegistrationPlace.service
  fileprivate static let managerInterface = "org.bluez.AgentManager1"
  let manager = AgentRegistration.managerInterface
  let needsPower = false
  let order = 0
  let title = "the pairing agent"

  let session: Session
  let questions: PairingQuestions
  private let capability: PairingAgent.Capability
  private let path: ObjectPath
  private let state = Lock(State())

  private struct State {
    var id: Int?
    var entry: ForwardingRegistration?
    var connection: Connection?
    var object: ExportedObject?
    var observer: Int?
  }

  private static let paths = ObjectPathCounter("agent")

  init(session: Session, agent: PairingAgent) throws {
    self.session = session
    self.agent = agent
    capability = try agent.capability
    questions = PairingQuestions(limit: agent.decisionTimeout, logger: session.core.logger)
    path = Self.paths.next()
  }

  deinit {
    let (id, observer) = state.withLock { ($0.id, $0.observer) }
    if let observer { session.core.stopObserving(observer) }
    giveUpPlace()
    session.core.forgetAgent(path)
    session.core.takeDownQuietly(id)
  }

  func start() async throws {
    let core = session.core
    // Not left to bluetoothd, which after a restart accepts the one that comes first.
    let isFirst = core.state.withLock { state in
      if state.pairing.agentPlace == nil { state.pairing.agentPlace = path }
      return state.pairing.agentPlace == path
    }
    guard isFirst else { throw Self.secondAgent(nil) }
    let observer = core.observe { [weak self] in self?.questions.note($0) }
    let entry = ForwardingRegistration(self)
    state.withLock { state in
      state.observer = observer
      state.entry = entry
    }
    do {
      let id = try await core.register(entry)
      state.withLock { $0.id = id }
      if capability != .noInputNoOutput { core.state.withLock { $0.pairing.agent = path } }
    } catch {
      giveUpPlace()
      throw Self.named(error)
    }
  }

  private static func named(_ error: any Error) -> any Error {
    guard let error = error as? BlueZError, error.underlying?.name == "org.bluez.Error.AlreadyExists" else {
      return error
    }
    return secondAgent(error.underlying)
  }

  private static func secondAgent(_ underlying: DBusError?) -> BlueZError {
    BlueZError(
      .inProgress, "this session has a pairing agent already",
      hint: "unregister the first one, or open another session", underlying: underlying)
  }

  /// Admits the next agent of the session, which bluetoothd gets when it has lost this one.
  private func giveUpPlace() {
    session.core.state.withLock { state in if state.pairing.agentPlace == path { state.pairing.agentPlace = nil } }
  }

  /// bluetoothd accepts one agent per connection: the end of one must not overtake the start of the next.
  var lane: RegistrationLane { .pairing }

  var undoing: Undoing { Undoing(manager, "UnregisterAgent", path, title) }

  /// Unregisters the agent; a pending decision becomes a refusal. Where bluetoothd is gone there is nothing to
  /// unregister.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  public func unregister() async throws {
    let id = state.withLock { $0.id.take() }
    questions.cancel()
    giveUpPlace()
    defer { state.withLock { $0.object = nil } }
    session.core.forgetAgent(path)
    try await session.core.takeDown(id)
  }

  func establish(on connection: Connection, at manager: ObjectPath) async throws {
    if state.withLock({ $0.connection !== connection || $0.object == nil }) {
      state.withLock { $0.object = nil }
      let object = try connection.export(path, [interface()])
      state.withLock { state in
        state.connection = connection
        state.object = object
      }
    }
    func call(_ member: String, _ arguments: [Value]) async throws {
      try await connection.call(SessionCore.service, manager, self.manager, member, arguments, returning: "")
    }
    let registration = [Value.objectPath(path), .string(capability.rawValue)]
    do {
      try await call("RegisterAgent", registration)
    } catch let error as DBusError where error.name == "org.bluez.Error.AlreadyExists" {
      // By an attempt whose reply did not arrive; otherwise another agent of this session is registered.
      do {
        try await call("UnregisterAgent", [.objectPath(path)])
      } catch {
        session.core.logger.debug("\(title) was not registered before", metadata: ["error": "\(error)"])
      }
      try await call("RegisterAgent", registration)
    }
    do {
      try await call("RequestDefaultAgent", [.objectPath(path)])
    } catch {
      // Registered completely or not at all, so that the next attempt starts from nothing.
      try await call("UnregisterAgent", [.objectPath(path)])
      throw error
    }
    try await waitUntilPairable()
  }

  /// Waits until the adapters are pairable. bluetoothd makes them so for a default agent, but only after its reply: a
  /// setting that is made before would be undone.
  private func waitUntilPairable() async throws {
    do {
      try await session.core.wait("waiting for pairable adapters", .seconds(1)) { state in
        let cache = state.cache
        return cache.paths(with: Adapter.interface).allSatisfy {
          cache.properties($0, Adapter.interface)?["Pairable"]?.bool == true
        } ? () : nil
      }
    } catch let error as BlueZError where error.code == .timedOut {
      session.core.logger.debug("an adapter stays not pairable; is AlwaysPairable set in main.conf?")
    }
  }

  /// bluetoothd dropped the agent, usually because it stops; the supervisor restores it.
  func released() {
    questions.cancel()
    if let entry = state.withLock({ $0.entry }) { session.core.dropped(entry) }
  }
}

extension SessionCore {
  /// Makes the session's agent the default one where a connection has the default agent's capability from its beginning.
  /// An agent without display and input leaves the others in place: whatever they are capable of is enough for it.
  func claimCapability() async {
    guard let agent = state.withLock({ $0.pairing.agent }), await release()?.has(.pairsAsTheCaller) == false else {
      return
    }
    let doing = "making the session's pairing agent the default one"
    do {
      try await call(
        Self.root, AgentRegistration.managerInterface, "RequestDefaultAgent", [.objectPath(agent)], doing: doing)
    } catch {
      // The connection is as good for all but pairing, and the agent is missing only until the supervisor restores it.
      logger.info("\(doing) failed", metadata: ["error": "\(error)"])
    }
  }

  fileprivate func forgetAgent(_ path: ObjectPath) {
    state.withLock { if $0.pairing.agent == path { $0.pairing.agent = nil } }
  }
}

extension Session {
  /// Registers an agent for decisions about pairing, until the returned object is released or unregistered.
  ///
  /// The agent decides about the pairings that this session starts, and as the default agent about those that peers or
  /// programs without an agent start, at every adapter. A program that registers later becomes the default agent; when
  /// it leaves, this agent is the default again. From BlueZ 5.81 on, an agent that displays or enters something becomes
  /// the default agent also when the session connects to a device: pairing on that connection would otherwise use
  /// another program's capability. bluetoothd accepts one agent per session, and sends an agent one
  /// request at a time: a second device that wants to pair meanwhile is refused.
  ///
  /// bluetoothd makes every adapter pairable when an agent becomes the default one, and stops that when the last one
  /// leaves. To admit pairing in a window only, call ``Adapter/setPairable(_:)`` after this method.
  ///
  /// The agent is declared: after a restart of bluetoothd it is registered again.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the agent's handlers do not fit together, `.inProgress` when the
  ///   session has an agent already, `.notPermitted`, `.serviceUnavailable`.
  public func register(_ agent: PairingAgent) async throws -> AgentRegistration {
    let registration = try AgentRegistration(session: self, agent: agent)
    try await registration.start()
    return registration
  }
}
