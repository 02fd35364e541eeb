import DBus
import Streams

/// An agent that decides for bluetoothd, as long as this object lives or until ``unregister()``.
public final class AgentRegistration: Registration {
  /// Who decides.
  public let agent: PairingAgent
  let place = RegistrationPlace.service
  let manager = "org.bluez.AgentManager1"
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

  private static let counter = Lock(0)

  init(session: Session, agent: PairingAgent) throws {
    self.session = session
    self.agent = agent
    capability = try agent.capability
    questions = PairingQuestions(limit: agent.decisionTimeout, logger: session.core.logger)
    let number = Self.counter.withLock { counter in
      counter += 1
      return counter
    }
    path = ObjectPath(stringLiteral: "/org/edgeblue/agent\(number)")
  }

  deinit {
    let (id, observer) = state.withLock { ($0.id, $0.observer) }
    let core = session.core
    let placement = placement
    if let observer { core.stopObserving(observer) }
    // In turn: bluetoothd takes one agent per connection, and the next one may be on its way.
    core.pairingSteps.enqueue { await core.takeDownQuietly(id, placement) }
  }

  func start() async throws {
    let core = session.core
    let observer = core.observe { [weak self] in self?.questions.note($0) }
    let entry = ForwardingRegistration(self)
    state.withLock { state in
      state.observer = observer
      state.entry = entry
    }
    try await core.pairingSteps.run { [self] in
      do {
        let id = try await core.register(entry)
        state.withLock { $0.id = id }
      } catch let error as BlueZError where error.underlying?.name == "org.bluez.Error.AlreadyExists" {
        throw BlueZError(
          .inProgress, "this session has a pairing agent already", hint: "give the first one up, or open a session",
          underlying: error.underlying)
      }
    }
  }

  private var placement: Placement {
    Placement(manager: manager, member: "UnregisterAgent", object: path, title: title)
  }

  /// Ends the agent's decisions; one that is open refuses. Where bluetoothd is gone there is nothing to end.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  public func unregister() async throws {
    let id = state.withLock { state in
      defer { state.id = nil }
      return state.id
    }
    questions.cancel()
    defer { state.withLock { $0.object = nil } }
    let core = session.core
    let placement = placement
    try await core.pairingSteps.run { try await core.takeDown(id, placement) }
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
    try await call("RegisterAgent", [.objectPath(path), .string(capability.rawValue)])
    do {
      try await call("RequestDefaultAgent", [.objectPath(path)])
    } catch {
      // All or nothing, so that the next attempt finds no half of this one.
      try await call("UnregisterAgent", [.objectPath(path)])
      throw error
    }
    try await waitUntilPairable()
  }

  /// bluetoothd makes its adapters pairable for a default agent, but only after it has answered: what is said of it
  /// next would be undone.
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

  /// bluetoothd has dropped the agent, most often because it ends; the supervisor puts it back.
  func released() {
    questions.cancel()
    if let entry = state.withLock({ $0.entry }) { session.core.dropped(entry) }
  }
}

extension Session {
  /// Has an agent decide about pairing, until the returned object is given up.
  ///
  /// It decides about the pairings this session begins, and as the default agent about those that peers or other
  /// programs without an agent begin, at every adapter. A program that asks later becomes the default agent; when it
  /// leaves, this one is again. bluetoothd takes one agent per session, and asks an agent one question at a time: a
  /// second device that wants to pair meanwhile is refused.
  ///
  /// bluetoothd makes every adapter pairable when an agent becomes the default one, and ends that when the last one
  /// leaves. Who wants devices to pair in a window only calls ``Adapter/setPairable(_:)`` after this.
  ///
  /// It is declared: after a restart of bluetoothd the agent is registered again.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the agent's decisions do not go together, `.inProgress` when the
  ///   session has an agent already, `.notPermitted`, `.serviceUnavailable`.
  public func register(_ agent: PairingAgent) async throws -> AgentRegistration {
    let registration = try AgentRegistration(session: self, agent: agent)
    try await registration.start()
    return registration
  }
}
