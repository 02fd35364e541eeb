import Agent
import ArgumentParser
import DBus

/// The option that selects the bus on which the agent is controlled.
struct BusOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The bus of the agent: system (the default), session, or a D-Bus address.", valueName: "bus"),
    completion: .list(["system", "session"]),
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

extension BusOptions {
  /// Returns a client of the agent on the bus.
  /// - Throws: ``Failure`` if the service of the agent has failed and does not start again by itself; a call would wait
  ///   for it in vain. `DBusError` if there is no bus.
  func client() async throws -> AgentClient {
    if let failure = await AgentUnit.failure(on: bus) { throw failure }
    return try await AgentClient.open(on: bus)
  }
}
