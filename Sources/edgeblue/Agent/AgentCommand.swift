import Agent
import ArgumentParser
import Foundation
import Logging
import NetworkPath
import ServiceLifecycle
import SystemState
import Uploads

/// `edgeblue agent`
struct AgentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent",
    abstract: "Offer compute in the mode a person has chosen, for as long as this machine runs.",
    discussion: """
      Applies the compute mode and watches the network and the power until Ctrl-C:

        off    \(ComputeMode.off.meaning)
        on     \(ComputeMode.on.meaning)
        local  \(ComputeMode.bluetoothLocal.meaning)

      `edgeblue mode` chooses, `edgeblue status` and `edgeblue events` tell. In the background (`edgeblue lifecycle`) \
      background tasks run (`edgeblue tasks`). When the network goes away, On becomes \
      Bluetooth Local by itself; back to On only a person goes. On needs a coordinator: that of --coordinator, or \
      COORDINATOR_URL. Without one On says so, and nothing runs.

      What the coordinator may want to see comes from files and the environment, for everybody here can read a command \
      line: AGENT_REGISTRATION_TOKEN, which proves that this machine belongs to an account, and MESH_AUTH_TOKEN, the \
      swarm's own, where the coordinator does not give it to those who register.

      With --uploads it uploads what `edgeblue record --upload` and `edgeblue upload --later` have queued in its folder, \
      in every mode. While another program uploads that queue, it waits for its turn.

      The mode, the events, the chosen phase and the pending tasks are kept in a folder: that of --state, else \
      STATE_DIRECTORY, else /var/lib/edgeblue for root and ~/.local/state/edgeblue for others. On the system bus the \
      agent needs dbus/io.edgecoder.Agent1.conf in /etc/dbus-1/system.d. In Bluetooth Local it is a phone, with the \
      options of `edgeblue phone`.

      EXAMPLES
        edgeblue agent --engine ollama --model llama3.2
        edgeblue agent --coordinator https://coordinator.example --registration-token-file /etc/edgeblue/token
        edgeblue agent --uploads --endpoint https://store.example --account ada --credentials /etc/edgeblue/s3
        edgeblue agent --bus session --state /tmp/agent
        edgeblue agent --json                            one JSON object for each thing that happens
      """)

  @Option(
    help: ArgumentHelp(
      "A file of JSON with settings. Without it \(AgentSettings.usualFile), where that is.", valueName: "file"))
  var config: String?
  @Option(help: ArgumentHelp("The folder with what outlives the agent.", valueName: "folder"))
  var state: String?
  @OptionGroup var metrics: MetricsOptions
  @Flag(help: "Upload what is queued in that folder, and what comes (`edgeblue uploads`).") var uploads = false
  @OptionGroup(title: "Upload options") var store: StoreOptions
  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var bus: BusOptions
  @OptionGroup var phone: PhoneOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let command: AgentCommand
    do {
      command = try Self.configured(
        Array(CommandLine.arguments.dropFirst(2)), file: settingsFile,
        environment: ProcessInfo.processInfo.environment)
    } catch {
      return try await common.run { _ in throw error }
    }
    try await command.work()
  }

  private func work() async throws {
    try await common.run { terminal in
      let engine = try phone.engine.makeEngine()
      let folder = try openFolder()
      defer { withExtendedLifetime(folder) {} }
      let path = try await NetworkPathMonitor.start(.withNetworkManager)
      defer { path.close() }
      let power = try await PowerMonitor.start()
      defer { power.close() }
      let log = EventLog(path: folder.events)
      let diary = AgentDiary(log, terminal)
      let lifecycle = try await AgentLifecycle.start(store: folder.lifecycle, log: log)
      defer { lifecycle.close() }
      let swarm = try coordinator.makeRunner(
        folder: folder, log: log, engine: engine, chosen: phone.engine, power: power, environment: environment)
      let phone = PhoneRunner(options: phone, engine: engine, power: power, terminal: terminal)
      let runner = try ModeRunner(
        store: folder.modes, log: log, phone: phone, heartbeat: swarm ?? NoCoordinator(), options: .notifying(terminal))
      let tasks = try AgentTasks(
        store: folder.tasks, sender: ModeHeartbeats(runner), log: log, options: .delayingSleep)
      let uploads = uploads ? AgentUploads(try store.queue(try QueueStore(in: folder.path))) : nil
      let control = try await AgentControl.open(runner, tasks: tasks, lifecycle: lifecycle, on: bus.bus)
      let role = AgentRole(
        runner: runner, tasks: tasks, uploads: uploads, control: control, lifecycle: lifecycle, path: path, power: power
      )
      await role.takeFirstState()
      terminal.say("EdgeBlue agent, mode \(runner.status.mode), state in \(folder.path). Ctrl-C ends it.")
      let told = Task { await diary.follow() }
      let heard = Task {
        if let swarm { for await status in swarm.statuses { await runner.take(status) } }
      }
      defer {
        told.cancel()
        heard.cancel()
      }
      // Services stop in reverse order: first the metrics, then what they describe.
      try await runUntilStopped(
        [Role { try await role.run() }]
          + metrics.server(terminal) {
            runner.status.metrics + (await phone.metrics()) + (await uploads?.metrics() ?? [])
          })
    }
  }

  private var environment: [String: String] { ProcessInfo.processInfo.environment }

  private func openFolder() throws -> StateFolder {
    let usual = StateFolder.usualPath(environment: environment, isRoot: geteuid() == 0)
    guard let path = state ?? usual else {
      throw Failure(
        "it is not known where to keep the mode: there is no HOME", hint: "name a folder with --state",
        status: .unavailable)
    }
    return try StateFolder(path: path)
  }
}
