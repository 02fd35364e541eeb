import Agent
import ArgumentParser

/// The options that decide what the loss of the network does to mode On.
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
    transform: named)
  var returnToOn = ReturnToOn.never

  func validate() throws {
    try checkRange(of: "--network-settle", networkSettle, 0...3600, unit: "s")
    try checkRange(of: "--network-grace", networkGrace, 0...3600, unit: "s")
  }

  /// Puts the options into those of the mode runner.
  func apply(to options: ModeRunner.Options) -> ModeRunner.Options {
    var options = options
    options.networkDelays.settle = .seconds(networkSettle)
    options.networkDelays.afterStart = .seconds(networkGrace)
    options.returnToOn = returnToOn
    return options
  }
}
