import ArgumentParser
import DBus

/// Over which bus the agent is controlled.
struct BusOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The bus on which the agent is: system (the default), session, or a D-Bus address.", valueName: "bus"),
    transform: { text in
      switch text {
      case "system": return .system
      case "session": return .session
      default:
        guard text.contains(":") else {
          throw ValidationError("--bus is system, session or a D-Bus address such as unix:path=/run/bus.")
        }
        return .address(text)
      }
    })
  var bus = Connection.Bus.system
}
