import Agent
import ArgumentParser
import JSONValues

/// `edgeblue tasks`
struct TasksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tasks",
    abstract: "List, run and expire the background tasks of the agent.",
    discussion: """
      Background tasks run while the agent is in the background (`edgeblue lifecycle`) and its mode is not Off:

        runtime    checks every 15 s whether heartbeats reach the coordinator
        heartbeat  checks once, if the runtime has not run for 15 min

      Only mode On has heartbeats. The agent sends them itself, in the foreground and in the background; a task waits \
      for the next one, and fails with the reason if none succeeds. Pending tasks persist across restarts and crashes.

      EXAMPLES
        edgeblue tasks
        edgeblue tasks list --json
        edgeblue tasks run heartbeat
        edgeblue tasks expire io.edgecoder.ios.runtime
      """,
    subcommands: [List.self, Run.self, Expire.self], defaultSubcommand: List.self)

  /// `edgeblue tasks list`
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the tasks: running or pending, and the reason why they wait.")

    @OptionGroup var bus: BusOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { try await $0.printTasks(on: bus) }
    }
  }

  /// `edgeblue tasks run`
  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "run", abstract: "Run a task now, regardless of its requirements.",
      discussion: "On the system bus, only root and members of the group edgeblue may do so. One task runs at a time.")

    @OptionGroup var task: TaskArgument
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { try await $0.printTasks(on: task.bus) { try await $0.runTask(task.identifier) } }
    }
  }

  /// `edgeblue tasks expire`
  struct Expire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "expire", abstract: "Expire a running task, as if its time were over.",
      discussion: "On the system bus, only root and members of the group edgeblue may do so.")

    @OptionGroup var task: TaskArgument
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { try await $0.printTasks(on: task.bus) { try await $0.expireTask(task.identifier) } }
    }
  }

  /// A task of an agent that the command line names.
  struct TaskArgument: ParsableArguments {
    @Argument(
      help: ArgumentHelp("The identifier of the task, or its last part: runtime or heartbeat.", valueName: "id"),
      completion: .list(AgentTask.allCases.map(\.rawValue)))
    var name: String
    @OptionGroup var bus: BusOptions

    var identifier: String {
      AgentTask.allCases.map(\.rawValue).first { $0.split(separator: ".").last == name[...] } ?? name
    }
  }
}

extension Terminal {
  /// Prints the tasks, after a change.
  fileprivate func printTasks(
    on bus: BusOptions, after change: (AgentClient) async throws -> Void = { _ in }
  ) async throws {
    let client = try await bus.client()
    try await change(client)
    print(try await client.tasks())
  }

  private func print(_ tasks: [AgentTaskStatus]) {
    if json { return print(json: .object(["tasks": .array(tasks.map { .object($0.json) })])) }
    for task in tasks { say(task.line.printable) }
  }
}

extension AgentTaskStatus {
  /// The task on one line, for display.
  var line: String {
    let counts = completed + failed == 0 ? "" : "; \(completed) completed, \(failed) failed"
    return identifier.padded(to: 27) + state + counts + (problem.map { "; last: \($0)" } ?? "")
  }

  private var state: String {
    if isRunning { return "running" }
    if isOverdue { return "expired, but still running" }
    guard let wait else { return "not pending" }
    let due = wait > .zero ? "pending, due in \(wait.components.seconds) s" : "pending, due"
    return due + (obstacle.map { "; waits: \($0)" } ?? "")
  }

  var json: [String: JSONValue] {
    [
      "identifier": .string(identifier), "kind": .string(kind.rawValue), "running": .bool(isRunning),
      "overdue": .bool(isOverdue), "waitMs": JSONValue(wait.map { Int($0 / .milliseconds(1)) }),
      "obstacle": JSONValue(obstacle?.rawValue), "completed": .number(completed), "failed": .number(failed),
      "problem": JSONValue(problem),
    ]
  }
}
