import Agent
import ArgumentParser
import EdgeCoder
import Foundation
import Logging
import NetworkPath
import ServiceLifecycle
import SystemState
import Uploads

/// `edgeblue agent`
struct AgentGroup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent",
    abstract: "Offer compute in the selected mode, for as long as this machine runs; or set that up.",
    discussion: """
      `edgeblue agent` is the same as `edgeblue agent run`, whose options `edgeblue agent run --help` lists.

      EXAMPLES
        sudo edgeblue agent setup
        edgeblue agent --engine ollama --model llama3.2
      """,
    subcommands: [AgentCommand.self, AgentSetupCommand.self], defaultSubcommand: AgentCommand.self)
}

/// `edgeblue agent run`
struct AgentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Offer compute in the selected mode, for as long as this machine runs.",
    discussion: """
      Applies the compute mode, and monitors network and power, until Ctrl-C:

        off    \(ComputeMode.off.meaning)
        on     \(ComputeMode.on.meaning)
        local  \(ComputeMode.bluetoothLocal.meaning)

      `edgeblue mode` selects the mode; `edgeblue status` and `edgeblue events` report what the agent does. Background \
      tasks (`edgeblue tasks`) run while the agent is in the background (`edgeblue lifecycle`). When the network is \
      lost for --network-settle seconds, On becomes Bluetooth Local; only the user returns to On, unless --return-to-on \
      says otherwise. Without a Bluetooth adapter the mode stays On and waits for the network. On a metered network it \
      spares the traffic (--metered). On requires a coordinator, named by --coordinator or COORDINATOR_URL, and an engine with a model, named by --engine; without them, status reports what is missing, \
      and nothing runs.

      Secrets come from files that options name, else from credentials of systemd, else from the environment, and never \
      from the command line, which all users of the host can read: \(Secret.all.map(\.name).joined(separator: ", ")).

      With --uploads it uploads, in every mode, what `edgeblue record --upload` and `edgeblue upload --later` have \
      queued in its folder. While another program uploads that queue, the agent waits. With --messages it sends, in \
      every mode, messages and covers at a constant rate, as `edgeblue messages run` does. With --loop it runs, in every \
      mode, the loop of speed tests that `edgeblue loop start --later` has stored; the phase of the agent \
      (`edgeblue lifecycle`) says whether somebody is there. With --coverage it measures, in every mode, the coverage of \
      the mobile network, one run after the other, and sends what is finished, as `edgeblue coverage run` does; while \
      another program measures into the same folder, it waits.

      Mode, events, lifecycle choice and pending tasks are stored in a folder: the one of --state, or STATE_DIRECTORY, \
      or /var/lib/edgeblue for root and ~/.local/state/edgeblue for other users. On the system bus the agent requires \
      dbus/io.edgecoder.Agent1.conf in /etc/dbus-1/system.d. In Bluetooth Local it is a phone, with the options of \
      `edgeblue phone`. Without a message bus the agent runs as well, in the mode that it has, and can be controlled from \
      the moment when there is one.

      EXAMPLES
        edgeblue agent --engine ollama --model llama3.2
        edgeblue agent --coordinator https://coordinator.example --registration-token-file /etc/edgeblue/token
        edgeblue agent --uploads --endpoint https://store.example --account ada --credentials /etc/edgeblue/s3
        edgeblue agent --coverage --control https://control.example.org --gpsd 127.0.0.1
        edgeblue agent --bus session --state /tmp/agent
        edgeblue agent --json                            one JSON object per event
      """)

  @Option(
    help: ArgumentHelp(
      "A JSON file with settings. Default: \(AgentSettings.usualFile), if it exists.", valueName: "file"),
    completion: .file())
  var config: String?
  @Option(help: ArgumentHelp("The folder for persistent state.", valueName: "folder"), completion: .directory)
  var state: String?
  @OptionGroup var metrics: MetricsOptions
  @Flag(help: "Upload the items that are, or will be, queued in that folder (`edgeblue uploads`).") var uploads = false
  @Flag(help: "Send messages by their schedule, from the folder messages in that folder (`edgeblue messages`).")
  var messages = false
  @Flag(help: "Run the loop of speed tests in the folder speedtest in that folder (`edgeblue loop`).") var loop = false
  @OptionGroup(title: "Coverage options") var coverage: AgentCoverageOptions
  @OptionGroup(title: "Upload options") var store: StoreOptions
  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var networkLoss: NetworkLossOptions
  @OptionGroup var bus: BusOptions
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var phone: PhoneOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let command: AgentCommand
    do {
      command = try Self.configured(
        Self.options(of: CommandLine.arguments), file: settingsFile,
        environment: ProcessInfo.processInfo.environment)
    } catch {
      return try await common.run { _ in throw error }
    }
    try await command.work()
  }

  /// Returns the words after `edgeblue agent`, or after `edgeblue agent run`.
  private static func options(of words: [String]) -> [String] {
    let words = words.dropFirst(2)
    return Array(words.first == configuration.commandName ? words.dropFirst() : words)
  }

  private func work() async throws {
    try await common.run { terminal in
      try insecure.check(urls, terminal)
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
      let uploads = try uploads ? makeUploads(in: folder.path, terminal) : nil
      let on = try coordinator.makeRunner(
        folder: folder, log: log, engine: engine, chosen: phone.engine, around: surroundings(path, power, uploads),
        environment: environment)
      let phone = PhoneRunner(
        options: phone, engine: engine, power: power, bonds: BondStore(folder: folder.path), terminal: terminal)
      let runner = try ModeRunner(
        store: folder.modes, log: log, phone: phone,
        heartbeat: HintedRunner(inner: on),
        options: networkLoss.apply(to: .notifying(terminal), pushingTo: on.swarm, uploads))
      let tasks = try AgentTasks(
        store: folder.tasks, sender: ModeHeartbeats(runner), log: log, options: .delayingSleep)
      let messages = try messages ? AgentMessages.open(in: folder.path, terminal) : nil
      let loop = try loop ? AgentLoop(in: folder.path, terminal) : nil
      let measurement = try coverage.measurement(in: folder.path, account: store.account, path, beside: loop, terminal)
      let control = try await LateControl.open(runner, tasks, lifecycle, on: bus.bus, terminal)
      let role = AgentRole(
        runner: runner, tasks: tasks, uploads: uploads, messages: messages, loop: loop, coverage: measurement,
        control: control, lifecycle: lifecycle, path: path, power: power)
      await role.takeFirstState()
      terminal.say("EdgeBlue agent, mode \(runner.status.mode), state in \(folder.path). Ctrl-C stops it.")
      let reporting = Task { await diary.follow() }
      let following = Task { await on.report(to: runner) }
      defer {
        reporting.cancel()
        following.cancel()
      }
      // Services stop in reverse order: first the metrics, then what they describe.
      try await runUntilStopped(
        [Role { try await role.run() }]
          + metrics.server(terminal) { await role.metrics + (await phone.metrics()) })
    }
  }

  /// The URLs to which plain http may go only with a flag.
  private var urls: KeyValuePairs<String, String?> {
    [
      "--engine-url": phone.engine.server.url, "--coordinator": coordinator.coordinator,
      "--endpoint": uploads ? store.endpoint : nil, "--token-service": uploads ? store.tokenService : nil,
      "--control": coverage.server,
    ]
  }

  private func makeUploads(in folder: String, _ terminal: Terminal) throws -> AgentUploads {
    let items = try QueueStore(in: folder)
    // An agent must start whatever is queued; it reports the items that wait for another server.
    let server = try store.serverInUse(items) { insecure.permits($0) }
    if store.endpoint == nil { try insecure.check(server, terminal) }
    return AgentUploads(try store.queue(items, at: server), networkLoss.metered)
  }

  private func surroundings(
    _ path: NetworkPathMonitor, _ power: PowerMonitor, _ uploads: AgentUploads?
  ) -> SwarmSurroundings {
    var network = CoordinatorRunner.Network()
    network.isSparing = { [networkLoss] in networkLoss.metered == .spare && path.path.isExpensive }
    network.examine = networkLoss.outageReason
    network.onPush = { push in
      // The coordinator's client asks for tasks by itself.
      if push == .uploads, let uploads { Task { await uploads.push() } }
    }
    return SwarmSurroundings(power: power, network: network)
  }

  private var environment: [String: String] { ProcessInfo.processInfo.environment }

  private func openFolder() throws -> StateFolder {
    let usual = StateFolder.usualPath(environment: environment, isRoot: geteuid() == 0)
    guard let path = state ?? usual else {
      throw Failure(
        "the state folder is unknown: HOME is not set", hint: "name a folder with --state",
        status: .unavailable)
    }
    do throws(AgentError) {
      return try StateFolder(path: path)
    } catch {
      // In place of the library's hint: another folder helps whatever the reason is.
      var failure = error
      failure.hint =
        error.code == .alreadyRunning
        ? "stop it first, or choose another folder with --state"
        : "choose a folder that this program may write to, with --state"
      throw failure
    }
  }
}
