import DBus
import DBusTesting
import Foundation
import Streams
import Timing

/// What answers as systemd-logind does, on a bus of its own: one session at most, and inhibitors that are let go when
/// their descriptor is closed.
final class FakeLogind: Sendable {
  private static let name = "org.freedesktop.login1"
  private static let manager = "org.freedesktop.login1.Manager"
  private static let session = "org.freedesktop.login1.Session"
  private static let noSession = "org.freedesktop.login1.NoSessionForPID"

  struct Inhibitor: Sendable {
    var words: [String]
    /// At its end once every copy of the other one is closed.
    var reading: FileDescriptor
  }

  private struct State {
    var session: [String: Value]?
    var isPreparing = false
    var inhibitors: [Inhibitor] = []
    var refusal: String?
    var isSlow = false
    /// The number of questions for a session.
    var questions = 0
  }

  private let connection: Connection
  private let state: Lock<State>
  private let object: ExportedObject
  private let sessionObject: ExportedObject
  private let asked: BoundedStream<Void>
  private let gate: BoundedStream<Void>.Source

  /// Takes its name when all is there, as a daemon does.
  init(_ bus: PrivateBus, session: [String: Value]? = nil, isPreparing: Bool = false) async throws {
    connection = try await bus.connect()
    let state = Lock(State(session: session, isPreparing: isPreparing))
    self.state = state
    let (asked, askedSource) = BoundedStream.make(of: Void.self, limit: 1)
    let (gateStream, gate) = BoundedStream.make(of: Void.self, limit: 1)
    self.asked = asked
    self.gate = gate
    let path: ObjectPath = "/org/freedesktop/login1/session/c1"
    object = try connection.export(
      "/org/freedesktop/login1",
      [
        Interface(
          Self.manager,
          methods: [
            .init("GetSession", in: [.init("session_id", "s")], out: [.init("object_path", "o")]) { call in
              let hasSession = state.withLock { state in
                state.questions += 1
                return state.session != nil
              }
              guard call.arguments[0].string == "auto", hasSession else {
                throw DBusError(name: Self.noSession, message: "Caller does not belong to any known session")
              }
              return [.objectPath(path)]
            },
            .init(
              "Inhibit", in: ["what", "who", "why", "mode"].map { .init($0, "s") }, out: [.init("pipe_fd", "h")]
            ) { call in
              askedSource.yield(())
              if state.withLock({ $0.isSlow }) { for await _ in gateStream { break } }
              if let refusal = state.withLock({ $0.refusal }) { throw DBusError(name: refusal, message: "refused") }
              let (reading, writing) = try FileDescriptor.pipe()
              let words = call.arguments.compactMap(\.string)
              state.withLock { $0.inhibitors.append(Inhibitor(words: words, reading: reading)) }
              return [.fileDescriptor(writing)]
            },
          ], properties: [.init("PreparingForSleep", "b", get: { .bool(state.withLock { $0.isPreparing }) })])
      ])
    let properties = Self.properties().keys.map { name in
      Interface.Property(name, "b", get: { state.withLock { $0.session?[name] } })
    }
    sessionObject = try connection.export(path, [Interface(Self.session, properties: properties)])
    _ = try await connection.requestName(Self.name)
  }

  /// The number of questions for a session so far.
  var questions: Int { state.withLock(\.questions) }

  static func properties(active: Bool = true, locked: Bool = false, idle: Bool = false) -> [String: Value] {
    ["Active": .bool(active), "LockedHint": .bool(locked), "IdleHint": .bool(idle)]
  }

  /// Changes the session's properties without a signal, as the idle time of a terminal does.
  func setQuietly(_ properties: [String: Value]) { state.withLock { $0.session = properties } }

  func set(_ properties: [String: Value]) throws {
    setQuietly(properties)
    try sessionObject.emitPropertiesChanged(Self.session, properties)
  }

  /// The session is over.
  func endSession() throws {
    state.withLock { $0.session = nil }
    try object.emit(Self.manager, "SessionRemoved", ["c1", .objectPath("/org/freedesktop/login1/session/c1")])
  }

  func prepareForSleep(_ isComing: Bool) throws {
    state.withLock { $0.isPreparing = isComing }
    try object.emit(Self.manager, "PrepareForSleep", [.bool(isComing)])
  }

  /// From now on `Inhibit` fails with the error of this name; `nil` for no longer.
  func refuse(_ name: String?) { state.withLock { $0.refusal = name } }

  /// From now on `Inhibit` is answered only when the test calls ``answer()``.
  func answerLater() { state.withLock { $0.isSlow = true } }

  func answer() { gate.yield(()) }

  /// Waits until `Inhibit` is called.
  func waitUntilAsked() async { for await _ in asked { return } }

  /// Every inhibitor ever granted, in order.
  var inhibitors: [Inhibitor] { state.withLock { $0.inhibitors } }

  /// How many of them are held.
  var held: Int { inhibitors.count { $0.isHeld } }

  /// Waits until so many are held. What this program itself still has of a reply counts until it is sent.
  func until(held count: Int) async throws {
    while held != count { try await Task.sleep(for: .milliseconds(1), clock: .steady) }
  }

  func end() { connection.close() }
}

extension FakeLogind.Inhibitor {
  /// A Boolean value that indicates whether the other end is open, by the check that logind uses.
  var isHeld: Bool {
    reading.withNumber { number in
      var poll = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      return Glibc.poll(&poll, 1, 0) == 0
    } ?? false
  }
}
