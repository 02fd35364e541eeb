import Agent
import ArgumentParser

/// `edgeblue mode`
struct ModeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mode",
    abstract: "Choose what the agent offers, and to whom. On earns rewards, Bluetooth Local does not.",
    discussion: """
        off    \(ComputeMode.off.meaning)
        on     \(ComputeMode.on.meaning)
        local  \(ComputeMode.bluetoothLocal.meaning)

      The choice holds also after a restart. On needs a network: without one it is Bluetooth Local at once, and stays \
      so until a person chooses On again. On the system bus root and the group edgeblue may choose.

      EXAMPLES
        edgeblue mode on
        edgeblue mode local --only-while-charging yes
        edgeblue mode --only-while-charging no
      """)

  @Argument(
    help: "The mode: off, on or local.",
    transform: { text in
      guard let mode = text == "local" ? .bluetoothLocal : ComputeMode(rawValue: text) else {
        throw ValidationError("A mode is off, on or local.")
      }
      return mode
    })
  var mode: ComputeMode?

  @Option(help: "Whether nothing runs without external power: yes or no.")
  var onlyWhileCharging: YesOrNo?
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard mode != nil || onlyWhileCharging != nil else {
      throw ValidationError("Say a mode: off, on or local. `edgeblue status` shows the one there is.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      let client = try await AgentClient.open(on: bus.bus)
      // First of all, so that nothing starts that it forbids.
      if let onlyWhileCharging { try await client.setRunOnlyWhileCharging(onlyWhileCharging == .yes) }
      if let mode { try await client.choose(mode) }
      terminal.print(try await client.status())
    }
  }

  enum YesOrNo: String, ExpressibleByArgument, CaseIterable {
    case yes, no
  }
}
