import ArgumentParser
import Foundation

/// The options of the agent that a file and the environment can set too: all except `--config`.
enum AgentSettings {
  /// The path of the settings of an installed agent.
  static let usualFile = "/etc/edgeblue/agent.json"

  static let all = Settings(
    prefix: "EDGEBLUE_AGENT_",
    known: [
      Setting("state"), Setting("metrics-port", .number), Setting("bus"), Setting("engine"), Setting("engine-url"),
      Setting("model"), Setting("engine-key-file"), Setting("adapter"),
      Setting("access"), Setting("allow", .list), Setting("name"), Setting("pace-ms", .number),
      Setting("max-output", .number), Setting("max-tokens", .number), Setting("parallel", .number), Setting("link"),
      Setting("coordinator", also: "COORDINATOR_URL"),
      Setting("registration-token-file"), Setting("mesh-token-file"), Setting("agent-id", also: "AGENT_ID"),
      Setting("coordinator-ca"), Setting("test-coordinator", .flag),
      Setting("assignment"), Setting("battery-threshold", .number), Setting("after-gap"),
      Setting("network-settle", .number), Setting("network-grace", .number), Setting("return-to-on"),
      Setting("metered"), Setting("probe"), Setting("probe-text"),
      Setting("messages", .flag), Setting("loop", .flag), Setting("coverage", .flag), Setting("control"),
      Setting("control-ca"), Setting("accept-terms", .flag), Setting("gpsd"), Setting("geoclue", .flag),
      Setting("track"), Setting("track-speed", .number), Setting("place"), Setting("interface"),
      Setting("signal", .flag), Setting("bucket"), Setting("uploads", .flag), Setting("endpoint"),
      Setting("region"), Setting("addressing"), Setting("ca"),
      Setting("account"), Setting("credentials"), Setting("profile"), Setting("token-service"), Setting("token-file"),
      Setting("insecure", .flag), Setting("log-level"), Setting("json", .flag),
    ])
}

extension AgentCommand {
  /// Returns the command with the settings of the file and the environment.
  /// - Parameter given: the words after `edgeblue agent`.
  /// - Throws: ``Failure``, which names the source of an invalid setting.
  static func configured(_ given: [String], file: String?, environment: [String: String]) throws -> AgentCommand {
    let additions = try AgentSettings.all.additions(to: given, file: file, environment: environment)
    do {
      return try parse(given + additions.flatMap(\.words))
    } catch {
      // The invalid setting is the one without which the others can be parsed.
      let culprit = additions.indices.first { index in
        var others = additions
        others.remove(at: index)
        return (try? parse(given + others.flatMap(\.words))) != nil
      }
      let sources = culprit.map { [additions[$0].source] } ?? Set(additions.map(\.source)).sorted()
      let place = sources.isEmpty ? "" : sources.joined(separator: " and ") + ": "
      throw Failure(place + message(for: error), status: .badInput)
    }
  }

  /// The settings file: the one that `--config` names, or the default one if it exists.
  var settingsFile: String? {
    config ?? (FileManager.default.fileExists(atPath: AgentSettings.usualFile) ? AgentSettings.usualFile : nil)
  }
}
