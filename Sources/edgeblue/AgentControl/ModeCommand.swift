import Agent
import ArgumentParser

/// `edgeblue mode`
struct ModeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mode",
    abstract: "Select the compute mode of the agent: off, on or local. On earns rewards, Bluetooth Local does not.",
    discussion: """
        off    \(ComputeMode.off.meaning)
        on     \(ComputeMode.on.meaning)
        local  \(ComputeMode.bluetoothLocal.meaning)

      The choice persists across restarts. On requires a network: without one the mode becomes Bluetooth Local, until \
      the user selects On again. On the system bus, only root and members of the group edgeblue may select the mode.

      EXAMPLES
        edgeblue mode on
        edgeblue mode local --only-while-charging yes
        edgeblue mode --only-while-charging no
      """)

  @Argument(
    help: "The mode: off, on or local.", completion: .modes,
    transform: Self.mode)
  var mode: ComputeMode?

  /// Returns the mode that a word names.
  static func mode(_ text: String) throws -> ComputeMode {
    let word = text.lowercased()
    guard let mode = word == "local" ? .bluetoothLocal : ComputeMode(rawValue: word) else {
      throw ValidationError("'\(text)' is not a mode; allowed: off, on, local.")
    }
    return mode
  }

  @Option(help: "Run only on external power: yes or no.")
  var onlyWhileCharging: YesOrNo?
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard mode != nil || onlyWhileCharging != nil else {
      throw ValidationError("A mode is missing: off, on or local. `edgeblue status` shows the current mode.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      let client = try await bus.client()
      // Before the mode, so that nothing starts on battery that may not.
      if let onlyWhileCharging { try await client.setRunOnlyWhileCharging(onlyWhileCharging == .yes) }
      if let mode { try await client.choose(mode) }
      terminal.print(try await client.status())
    }
  }

  enum YesOrNo: String, ExpressibleByArgument, CaseIterable {
    case yes, no
  }
}
