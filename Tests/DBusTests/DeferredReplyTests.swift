import DBus
import DBusTesting
import Streams
import SystemTesting
import Testing

@Suite("Replies that come later", .timeLimit(.minutes(5)))
struct DeferredReplyTests {
  /// Puts questions to a person who answers through a later call.
  private final class Questions: Sendable {
    static let interface = "org.edgeblue.Questions1"
    let open = Lock<[Reply]>([])

    var interfaces: [Interface] {
      [
        Interface(
          Self.interface,
          methods: [
            .init(
              "Ask", out: [.init("answer", "s")],
              deferred: { [open] _, reply in
                open.withLock { $0.append(reply) }
              }),
            .init("Answer", in: [.init("answer", "v")]) { [open] call in
              for reply in (open.withLock { $0 }) { reply.finish(.success([call.arguments[0].unwrapped])) }
              return []
            },
            .init("Forget") { [open] _ in
              open.withLock { $0 = [] }
              return []
            },
          ])
      ]
    }
  }

  private func withQuestions(_ body: (RemoteObject, Questions) async throws -> Void) async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let questions = Questions()
    let object = try server.connection.export("/questions", questions.interfaces)
    try await body(RemoteObject(try await bus.connect(), server.name, "/questions"), questions)
    withExtendedLifetime(object) {}
  }

  private func ask(_ remote: RemoteObject) -> Task<String, any Error> {
    Task {
      do {
        return try await remote.call(Questions.interface, "Ask", returning: "s")[0].string ?? "?"
      } catch let error as DBusError {
        return error.name
      }
    }
  }

  @Test("A later call can reply to an earlier one, and the first reply counts")
  func answered() async throws {
    try await withQuestions { remote, questions in
      let asked = [ask(remote), ask(remote)]
      try await eventually("both questions are out") { questions.open.withLock { $0 }.count == 2 }
      try await remote.call(Questions.interface, "Answer", .variant("yes"))
      try await remote.call(Questions.interface, "Answer", .variant("no"))
      for question in asked { #expect(try await question.value == "yes") }
    }
  }

  @Test("No caller waits for a reply of the wrong type, or for one that was released unused")
  func unanswered() async throws {
    try await withQuestions { remote, questions in
      let wrong = ask(remote)
      try await eventually("the question is out") { questions.open.withLock { $0 }.count == 1 }
      try await remote.call(Questions.interface, "Answer", .variant(.uint32(7)))
      #expect(try await wrong.value == "org.freedesktop.DBus.Error.Failed")
      try await remote.call(Questions.interface, "Forget")

      let forgotten = ask(remote)
      try await eventually("the question is out") { questions.open.withLock { $0 }.count == 1 }
      try await remote.call(Questions.interface, "Forget")
      #expect(try await forgotten.value == "org.freedesktop.DBus.Error.Failed")
    }
  }
}
