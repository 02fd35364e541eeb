internal import BackgroundTasks
internal import DBus

extension AgentControl {
  /// `io.edgecoder.Tasks1`.
  static func interface(of tasks: AgentTasks) -> Interface {
    Interface(
      AgentBus.tasks,
      methods: [
        .init("GetTasks", out: [.init("tasks", "aa{sv}")]) { _ in
          [.array(of: "a{sv}", await tasks.tasks.map { .properties($0.forEverybody.properties) })]
        },
        .init("Run", in: [.init("identifier", "s")]) { call in
          try await answering { () async throws(BackgroundTasksError) in
            try await tasks.runNow(call.arguments[0].string ?? "")
          }
        },
        .init("Expire", in: [.init("identifier", "s")]) { call in
          try await answering { () async throws(BackgroundTasksError) in
            try await tasks.expireNow(call.arguments[0].string ?? "")
          }
        },
      ],
      signals: [
        .init("Event", [.init("identifier", "s"), .init("run", "t"), .init("kind", "s"), .init("text", "s")])
      ])
  }

  private static func answering(
    _ body: () async throws(BackgroundTasksError) -> Void
  ) async throws(DBusError) -> [Value] {
    do {
      try await body()
      return []
    } catch {
      throw DBusError(
        name: error.code == .notRegistered ? AgentBus.notRegistered : AgentBus.notNow,
        message: error.message + (error.hint.map { " (\($0))" } ?? ""))
    }
  }
}

extension BackgroundTaskEvent {
  /// The event as D-Bus values, without the reason of a failure, which every user would hear; `nil` for an event that
  /// belongs to no task.
  var values: [Value]? {
    func values(_ identifier: String, _ run: Int, _ kind: String, _ text: String = "") -> [Value] {
      [.string(identifier), .uint64(UInt64(run)), .string(kind), .string(text)]
    }
    return switch self {
    case .began(let identifier, let run): values(identifier, run, "began")
    case .expired(let identifier, let run, let reason): values(identifier, run, "expired", reason.description)
    case .ended(let identifier, let run, .completed): values(identifier, run, "completed")
    case .ended(let identifier, let run, .failed): values(identifier, run, "failed")
    case .ended(let identifier, let run, .overdue): values(identifier, run, "overdue")
    case .notSaved: nil
    }
  }
}

extension AgentTaskStatus {
  /// The status as D-Bus properties: `a{sv}`.
  var properties: [String: Value] {
    var properties: [String: Value] = [
      "Identifier": .string(identifier), "Kind": .string(kind.rawValue), "Running": .bool(isRunning),
      "Overdue": .bool(isOverdue), "Completed": .uint64(UInt64(completed)), "Failed": .uint64(UInt64(failed)),
    ]
    properties["WaitMs"] = wait.map { .int64(Int64($0 / .milliseconds(1))) }
    properties["Obstacle"] = obstacle.map { .string($0.rawValue) }
    properties["Problem"] = problem.map(Value.string)
    return properties
  }

  /// Creates a status from D-Bus properties, or returns `nil` if they do not describe a task.
  init?(properties: [String: Value]) {
    guard let identifier = properties["Identifier"]?.string,
      let kind = properties["Kind"]?.string.flatMap(BackgroundTaskRequest.Kind.init)
    else { return nil }
    self.init(identifier, kind)
    isRunning = properties["Running"]?.bool ?? false
    isOverdue = properties["Overdue"]?.bool ?? false
    completed = properties["Completed"]?.integer() ?? 0
    failed = properties["Failed"]?.integer() ?? 0
    wait = properties["WaitMs"]?.integer(as: Int64.self).map { .milliseconds($0) }
    obstacle = properties["Obstacle"]?.string.flatMap(ExpirationReason.init)
    problem = properties["Problem"]?.string
  }
}
