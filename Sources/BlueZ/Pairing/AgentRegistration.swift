import DBus
import Streams

/// The registration of a pairing agent, which lasts as long as this object exists or until ``unregister()``.
public final class AgentRegistration: Registration {
  /// The agent that makes the decisions.
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
    // In order: bluetoothd accepts one agent per connection, and the next registration may be under way.
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
          .inProgress, "this session has a pairing agent already",
          hint: "unregister the first one, or open another session",
          underlying: error.underlying)
      }
    }
  }

  private var placement: Placement {
    Placement(manager: manager, member: "UnregisterAgent", object: path, title: title)
  }

  /// Unregisters the agent; a pending decision becomes a refusal. Where bluetoothd is gone there is nothing to
  /// unregister.
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

extension Session {
  /// Registers an agent for decisions about pairing, until the returned object is released or unregistered.
  ///
  /// The agent decides about the pairings that this session starts, and as the default agent about those that peers or
  /// programs without an agent start, at every adapter. A program that registers later becomes the default agent; when
  /// it leaves, this agent is the default again. bluetoothd accepts one agent per session, and sends an agent one
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
