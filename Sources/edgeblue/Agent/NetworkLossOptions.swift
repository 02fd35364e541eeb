import Agent
import ArgumentParser
import NetworkPath
import NetworkPathNetworkManager

/// The options that decide what the state of the network does to mode On and to uploads.
struct NetworkLossOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The time that the loss of the network must last before On becomes Bluetooth Local, 0 to 3600 s.",
      valueName: "seconds"))
  var networkSettle = 5
  @Option(
    help: ArgumentHelp(
      "The time after the start in which the loss of the network changes no mode, 0 to 3600 s.", valueName: "seconds"))
  var networkGrace = 60
  @Option(
    help: ArgumentHelp(
      "The time at which a mode that the loss of the network has changed is On again without the user: never, "
        + "after-restart (of the agent) or when-back (the network).", valueName: "time"),
    completion: .words(ReturnToOn.self), transform: named)
  var returnToOn = ReturnToOn.never
  @Option(
    help: ArgumentHelp(
      "The use of a metered network: pause (On and uploads wait), spare (an idle On sends less than 5 MB a day, and "
        + "uploads wait for a day at most) or ignore.", valueName: "policy"))
  var metered = MeteredPolicy.spare
  @Option(
    help: ArgumentHelp(
      "A page that shows, while the coordinator cannot be reached, whether a captive portal is the reason, for hosts "
        + "without NetworkManager: an http URL.", valueName: "url"))
  var probe: String?
  @Option(
    help: ArgumentHelp(
      "The text that the page of --probe contains. Default: any, with a status of 200 to 299.", valueName: "text"))
  var probeText: String?

  func validate() throws {
    try checkRange(of: "--network-settle", networkSettle, 0...3600, unit: "s")
    try checkRange(of: "--network-grace", networkGrace, 0...3600, unit: "s")
    guard probe.map({ HTTPProbe($0) != nil }) != false else {
      throw ValidationError("--probe: allowed is an http or https URL.")
    }
    guard probe != nil || probeText == nil else { throw ValidationError("--probe-text requires --probe.") }
  }

  /// Puts the options into those of the mode runner.
  func apply(
    to options: ModeRunner.Options, pushingTo swarm: CoordinatorRunner?, _ uploads: AgentUploads?
  ) -> ModeRunner.Options {
    var options = options
    options.networkDelays.settle = .seconds(networkSettle)
    options.networkDelays.afterStart = .seconds(networkGrace)
    options.returnToOn = returnToOn
    options.pausesOnMetered = metered == .pause
    options.push = { push in
      switch push {
      case .tasks: await swarm?.askNow()
      case .uploads: await uploads?.push()
      }
    }
    return options
  }
}

extension NetworkLossOptions {
  /// Returns why the coordinator cannot be reached: as NetworkManager says, else by the page that the user names.
  @Sendable func outageReason() async -> UnreachableReason? {
    let probes: [any ReachabilityProbe] =
      [NetworkManagerProbe()] + (probe.flatMap { HTTPProbe($0, text: probeText) }.map { [$0] } ?? [])
    for probe in probes {
      do {
        return switch try await probe.probe() {
        case .portal: .portal
        case .unreachable: .network
        case .reachable: .coordinator
        }
      } catch {
        // Without NetworkManager, or without its check, the next probe is asked; without any the reason stays unknown.
        continue
      }
    }
    return nil
  }
}
