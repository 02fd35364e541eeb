import Agent
import ArgumentParser

/// `edgeblue tasks`
struct TasksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tasks",
    abstract: "Show, run and end the agent's background tasks.",
    discussion: """
      They run while the agent is in the background (`edgeblue lifecycle`) and its mode is not Off:

        runtime    asks every 15 s whether heartbeats get through, again and again
        heartbeat  asks once, when the runtime has not run for 15 min

      Heartbeats there are in On only. The agent sends them itself, in the foreground and in the background alike; the \
      tasks wait for one that is to come, and fail with the reason when none gets through. What is pending outlives a \
      restart and a crash.

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
      commandName: "list", abstract: "Show each task: whether it runs or is pending, and what keeps it waiting.")

    @OptionGroup var bus: BusOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { try await $0.printTasks(on: bus) }
    }
  }

  /// `edgeblue tasks run`
  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "run", abstract: "Run a task at once, whatever it requires.",
      discussion: "On the system bus root and the group edgeblue may. One task runs at a time.")

    @OptionGroup var task: TaskArgument
    @OptionGroup var bus: BusOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { try await $0.printTasks(on: bus) { try await $0.runTask(task.identifier) } }
    }
  }

  /// `edgeblue tasks expire`
  struct Expire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "expire", abstract: "Tell a task that runs to come to its end, as if its time were over.",
      discussion: "On the system bus root and the group edgeblue may.")

    @OptionGroup var task: TaskArgument
    @OptionGroup var bus: BusOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { try await $0.printTasks(on: bus) { try await $0.expireTask(task.identifier) } }
    }
  }

  /// Which task.
  struct TaskArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The task's name, or the last word of it: runtime or heartbeat.", valueName: "id"))
    var name: String

    var identifier: String {
      AgentTask.allCases.map(\.rawValue).first { $0.split(separator: ".").last == name[...] } ?? name
    }
  }
}

extension Terminal {
  /// Shows the tasks, after something was done to them.
  fileprivate func printTasks(
    on bus: BusOptions, after change: (AgentClient) async throws -> Void = { _ in }
  ) async throws {
    let client = try await AgentClient.open(on: bus.bus)
    try await change(client)
    print(try await client.tasks())
  }

  private func print(_ tasks: [AgentTaskStatus]) {
    if json { return print(json: .object(["tasks": .list(tasks.map { .object($0.json) })])) }
    for task in tasks { say(task.line.printable) }
  }
}

extension AgentTaskStatus {
  /// The task in a line, for a person.
  var line: String {
    let counts = completed + failed == 0 ? "" : "; \(completed) completed, \(failed) failed"
    return identifier.padded(to: 27) + state + counts + (problem.map { "; last: \($0)" } ?? "")
  }

  private var state: String {
    if isRunning { return "runs" }
    if isOverdue { return "was to end and has not" }
    guard let wait else { return "not pending" }
    let due = wait > .zero ? "pending, due in \(wait.components.seconds) s" : "pending, due"
    return due + (obstacle.map { "; waits: \($0)" } ?? "")
  }

  var json: [String: JSON] {
    [
      "identifier": .string(identifier), "kind": .string(kind.rawValue), "running": .bool(isRunning),
      "overdue": .bool(isOverdue), "waitMs": JSON(wait.map { Int($0 / .milliseconds(1)) }),
      "obstacle": JSON(obstacle?.rawValue), "completed": .number(completed), "failed": .number(failed),
      "problem": JSON(problem),
    ]
  }
}
