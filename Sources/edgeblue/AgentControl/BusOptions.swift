import ArgumentParser
import DBus

/// The option that selects the bus on which the agent is controlled.
struct BusOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The bus of the agent: system (the default), session, or a D-Bus address.", valueName: "bus"),
    transform: { text in
      switch text {
      case "system": return .system
      case "session": return .session
      default:
        guard text.contains(":") else {
          throw ValidationError("--bus: allowed are system, session and a D-Bus address such as unix:path=/run/bus.")
        }
        return .address(text)
      }
    })
  var bus = Connection.Bus.system
}
