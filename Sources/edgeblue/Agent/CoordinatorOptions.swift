import Agent
import AgentHTTP
import ArgumentParser
import EdgeCoder
import Foundation
import IncomingHTTP
import SystemState

/// The options for the coordinator that the agent works for in mode On.
struct CoordinatorOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The URL of the coordinator, for mode On.", valueName: "url"))
  var coordinator: String?
  @Option(
    help: Secret.registrationToken.help("the registration token, which proves the owner of this machine"),
    completion: .file())
  var registrationTokenFile: String?
  @Option(
    help: Secret.meshToken.help("the token of the swarm, for a coordinator that issues none at enrolment"),
    completion: .file())
  var meshTokenFile: String?
  @Option(
    help: ArgumentHelp(
      "The identifier of this machine at the coordinator. Default: one that is generated once.", valueName: "name"))
  var agentID: String?
  @Option(
    help: ArgumentHelp("A PEM file with certificates to trust in addition to the system's.", valueName: "file"),
    completion: .file())
  var coordinatorCa: String?
  @Flag(
    help: """
      Work with the echo engine, too, for a coordinator on this machine that is only a test. Without it, On requires an \
      engine with a model.
      """)
  var testCoordinator = false
  @Option(
    help: ArgumentHelp(
      """
      The power policy for requesting work: flow-chart (not in power saver mode, not below the battery threshold), \
      phone or machine (the coordinator's own rules for phones and for other machines).
      """, valueName: "policy"))
  var assignment = Assignment.flowChart
  @Option(
    help: ArgumentHelp(
      "The battery level below which no work is requested, 0 to 100; with `phone`, on battery only. Default: 20.",
      valueName: "percent"))
  var batteryThreshold: Int?
  @Option(
    help: ArgumentHelp(
      "The conduct after a gap of 5 min in the heartbeats, which makes each result of the next hour a strike: work (at "
        + "most 2 results, because 3 strikes within an hour are a ban) or wait.", valueName: "conduct"),
    completion: .words(AfterGap.self), transform: named)
  var afterGap = AfterGap.work

  enum Assignment: String, ExpressibleByArgument, CaseIterable {
    case flowChart = "flow-chart"
    case phone, machine
  }

  func validate() throws {
    if testCoordinator, !isCoordinatorHere {
      throw ValidationError("--test-coordinator: --coordinator has to name a coordinator on this machine.")
    }
    try checkRange(of: "--battery-threshold", batteryThreshold, 0...100, unit: "percent")
    if batteryThreshold != nil, assignment == .machine {
      throw ValidationError(
        """
        --assignment machine has thresholds of its own: omit --battery-threshold, or select --assignment flow-chart \
        or phone.
        """)
    }
  }

  /// A Boolean value that indicates whether the coordinator runs on this machine.
  private var isCoordinatorHere: Bool {
    guard let coordinator, let host = URL(string: coordinator)?.host() else { return false }
    return LoopbackRule.allows(host: host.contains(":") ? "[\(host)]" : host)
  }

  /// Returns the power policy for requesting work.
  func policy() throws -> AssignmentPolicy {
    switch assignment {
    case .flowChart: .flowChart(try batteryThreshold.map { try FlowChart(batteryThreshold: $0) } ?? FlowChart())
    case .phone:
      .coordinatorPhone(try batteryThreshold.map { try CoordinatorPhoneTable(batteryStopLevel: $0) } ?? .init())
    case .machine: .coordinatorMachine
    }
  }

  /// Returns the service of mode On, which is impossible without a coordinator, or without an engine that has a model.
  func makeRunner(
    folder: StateFolder, log: EventLog, engine: any Engine, chosen: EngineOptions, around: SwarmSurroundings,
    environment: [String: String]
  ) throws -> OnRunner {
    guard let coordinator else {
      return .impossible(
        AgentError(
          .notConfigured, "no coordinator is configured", hint: "name one to `edgeblue agent` with --coordinator"))
    }
    guard chosen.engine != .echo || testCoordinator else {
      return .impossible(
        AgentError(
          .notConfigured, "no engine is configured: the echo engine only repeats prompts, which is no work",
          hint: "name one to `edgeblue agent` with --engine ollama or --engine openai"))
    }
    let identity = try MachineIdentity.load(
      path: folder.identity, hostName: ProcessInfo.processInfo.hostName, chosen: agentID)
    var options = CoordinatorRunner.Options()
    options.version = EdgeBlueVersion.current
    options.registrationToken = try Secret.registrationToken.value(registrationTokenFile, environment)
    options.meshToken = try Secret.meshToken.value(meshTokenFile, environment)
    options.localModelProvider = chosen.engine == .ollama ? "ollama-local" : "edgecoder-local"
    options.policy = try policy()
    // Each failure is an event, which is printed; the log would say it once more.
    options.logger.logLevel = .critical
    options.network = around.network
    options.network.afterGap = afterGap
    options.power = { around.power.telemetry }
    let sensor = MachineSensor()
    options.machine = { sensor.read() }
    options.model = {
      let state = await engine.modelState()
      let model = state == .ready ? await engine.activeModel() : nil
      return CoordinatorModel(
        isReady: state == .ready, name: model?.name ?? chosen.server.model,
        billionsOfParameters: model?.billionsOfParameters,
        isLoading: state == .loading)
    }
    options.answer = { try await Self.answer($0, by: engine) }
    let runner = try CoordinatorRunner(
      transport: HintedTransport(
        inner: try HTTPTransport(
          url: coordinator, certificates: coordinatorCa, userAgent: "EdgeBlue/\(EdgeBlueVersion.current)")),
      signer: try Ed25519Signer(identity), identity: identity, folder: folder, log: log, options: options)
    return .swarm(runner)
  }

  /// The limit of tokens of one task, as in the coordinator's own agents.
  private static let maxTokens = 512

  private static func answer(_ task: CoordinatorTask, by engine: any Engine) async throws -> String {
    var text = ""
    for try await output in engine.generate(InferenceRequest(prompt: task.input, maxTokens: maxTokens)) {
      text += output.text ?? ""
    }
    return text
  }
}
