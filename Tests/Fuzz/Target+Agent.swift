import Foundation

@testable import Agent
@testable import BackgroundTasks
@testable import Timing

extension Target {
  static let agent = [
    Target("agent-mode", seeds: [saved("mode.json") { try ModeStore(path: $0).save(ModeRecord(mode: .on)) }]) { bytes in
      _ = try ModeStore(path: file("mode.json", bytes)).load()
    },
    Target("agent-lifecycle", texts: [#"{"version":1,"choice":"auto"}"#]) { bytes in
      _ = try LifecycleStore(path: file("lifecycle.json", bytes)).load()
    },
    Target("agent-tasks", seeds: [tasks]) { bytes in
      let loaded = try BackgroundTaskStore(path: file("tasks.json", bytes)).load()
      for task in loaded.tasks { _ = task.remaining(atMs: 1_700_000_000_000) }
    },
    Target("agent-identity", seeds: [identity]) { bytes in
      _ = try MachineIdentity.load(path: file("identity.json", bytes), hostName: "host")
    },
    Target("agent-session", seeds: [session], take: coordinatorSession),
    Target("agent-outbox", texts: [#"{"version":1,"coordinator":"https://c","result":{"taskId":"1","result":"x"}}"#]) {
      bytes in
      _ = file("1.json", bytes)
      _ = try ResultOutbox(folder: scratch, coordinator: "https://c").load()
    },
    Target("agent-events", texts: [#"{"number":1,"atMs":5,"kind":"mode","text":"a"}"# + "\n"]) { bytes in
      _ = EventFile.read(file("events.jsonl", bytes))
    },
    Target(
      "coordinator-replies",
      texts: [
        #"{"accepted":true,"meshToken":"t"}"#, #"{"ok":true,"blacklisted":false}"#, #"{"error":"a","reason":"b"}"#,
      ]
    ) { bytes in
      for status in [200, 401, 403, 404, 500] {
        _ = CoordinatorVerdict(CoordinatorAnswer(status: status, body: Data(bytes)))
      }
      _ = try? Data(bytes).decoded(as: HeartbeatReply.self, from: "/heartbeat")
      _ = try Data(bytes).decoded(as: RegisterReply.self, from: "/register")
    },
  ]

  /// What a store writes into a file.
  private static func saved(_ name: String, _ save: (String) throws -> Void) -> [UInt8] {
    let path = scratch + "/" + name
    do {
      try save(path)
      return [UInt8](try Data(contentsOf: URL(filePath: path)))
    } catch { fatalError("\(name): \(error)") }
  }

  private static let tasks = saved("tasks.json") { path in
    let request = BackgroundTaskRequest(
      "io.example.task", BackgroundTaskRequest.Kind.allCases[0], delay: .seconds(60))
    try BackgroundTaskStore(path: path).save([.init(request: request, dueMs: 1_700_000_000_000)])
  }

  private static let identity = saved("identity.json") { _ = try MachineIdentity.load(path: $0, hostName: "host") }

  private static let boot = BootInstant(boot: "b", atMs: 5000)
  private static let clock = ClockReading(now: .seconds(5), wallMs: 1_700_000_000_000, boot: boot)
  private static let session = saved("session.json") { path in
    var session = CoordinatorSession()
    session.meshToken = "token"
    session.quietUntil = .seconds(9)
    session.registrations = [.seconds(1)]
    try CoordinatorStore(path: path, coordinator: "c", agentID: "a").save(session, at: clock)
  }

  /// In the same boot, in another one, and after a full disk.
  private static func coordinatorSession(_ bytes: [UInt8]) throws {
    for (name, boot) in [
      ("same.json", boot), ("other.json", BootInstant(boot: "c", atMs: 1)), ("full.json.stale", boot),
    ] {
      let path = file(name, bytes)
      let store = CoordinatorStore(
        path: name == "full.json.stale" ? String(path.dropLast(6)) : path, coordinator: "c", agentID: "a")
      _ = try store.load(at: ClockReading(now: .seconds(5), wallMs: 1_700_000_000_000, boot: boot))
    }
  }
}
