import Agent
import AgentHTTP
import ArgumentParser
import EdgeCoder
import Foundation
import SystemState

/// Which coordinator the agent works for in On, and as whom.
struct CoordinatorOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The coordinator to work for in On.", valueName: "url"))
  var coordinator: String?
  @Option(
    help: ArgumentHelp(
      "A file with the token that proves whose this machine is. Without it AGENT_REGISTRATION_TOKEN.",
      valueName: "file"))
  var registrationTokenFile: String?
  @Option(
    help: ArgumentHelp(
      "This machine's name at the coordinator. Without it one that is made up once.", valueName: "name"))
  var agentID: String?
  @Option(
    help: ArgumentHelp("A PEM file with certificates to trust besides the system's.", valueName: "file"))
  var coordinatorCa: String?
  @Option(
    help: ArgumentHelp(
      """
      Whether power suffices to ask for work: flow-chart (not to save power, not below the threshold), phone or \
      machine (as the coordinator itself decides about phones, and about other machines).
      """, valueName: "policy"))
  var assignment = Assignment.flowChart
  @Option(
    help: ArgumentHelp(
      "Ask for no work with a battery below this; with `phone`, on battery. 20 without it.", valueName: "percent"))
  var batteryThreshold: Int?

  enum Assignment: String, ExpressibleByArgument, CaseIterable {
    case flowChart = "flow-chart"
    case phone, machine
  }

  func validate() throws {
    guard (0...100).contains(batteryThreshold ?? 0) else {
      throw ValidationError("--battery-threshold is 0 to 100 percent.")
    }
    if batteryThreshold != nil, assignment == .machine {
      throw ValidationError(
        """
        The coordinator's table for machines has thresholds of its own: leave out --battery-threshold, or choose \
        --assignment flow-chart or phone.
        """)
    }
  }

  /// Whether power suffices for work.
  func policy() throws -> AssignmentPolicy {
    switch assignment {
    case .flowChart: .flowChart(try batteryThreshold.map { try FlowChart(batteryThreshold: $0) } ?? FlowChart())
    case .phone:
      .coordinatorPhone(try batteryThreshold.map { try CoordinatorPhoneTable(batteryStopLevel: $0) } ?? .init())
    case .machine: .coordinatorMachine
    }
  }

  /// What takes part in the swarm; `nil` without a coordinator.
  func makeRunner(
    folder: StateFolder, log: EventLog, engine: any Engine, chosen: EngineOptions, power: PowerMonitor,
    environment: [String: String]
  ) throws -> CoordinatorRunner? {
    func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    guard let coordinator else { return nil }
    let identity = try MachineIdentity.load(
      path: folder.identity, hostName: ProcessInfo.processInfo.hostName, chosen: agentID)
    var options = CoordinatorRunner.Options()
    options.version = EdgeBlueVersion.current
    options.registrationToken = try registrationTokenFile.map(Self.token) ?? set("AGENT_REGISTRATION_TOKEN")
    options.meshToken = set("MESH_AUTH_TOKEN")
    options.localModelProvider = chosen.engine == .ollama ? "ollama-local" : "edgecoder-local"
    options.policy = try policy()
    options.power = { power.telemetry }
    let sensor = MachineSensor()
    options.machine = { sensor.read() }
    options.model = {
      let state = await engine.modelState()
      let model = state == .ready ? await engine.activeModel() : nil
      return CoordinatorModel(
        isReady: state == .ready, name: model?.name ?? chosen.model, billionsOfParameters: model?.billionsOfParameters,
        isLoading: state == .loading)
    }
    options.answer = { try await Self.answer($0, by: engine) }
    return try CoordinatorRunner(
      transport: try HTTPTransport(url: coordinator, certificates: coordinatorCa), signer: try Ed25519Signer(identity),
      identity: identity, folder: folder, log: log, options: options)
  }

  /// As many tokens as the coordinator's own agents give it.
  private static let maxTokens = 512

  private static func answer(_ task: CoordinatorTask, by engine: any Engine) async throws -> String {
    var text = ""
    for try await piece in engine.generate(prompt: task.input, maxTokens: maxTokens) { text += piece }
    return text
  }

  private static func token(from path: String) throws -> String {
    guard let line = SystemFiles.line(of: path)?.trimmingCharacters(in: .whitespaces), !line.isEmpty else {
      throw Failure("\(path) holds no token", hint: "the token is its first line", status: .badInput)
    }
    return line
  }
}
