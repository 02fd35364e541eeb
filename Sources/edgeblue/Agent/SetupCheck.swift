import AsyncHTTPClient
import EdgeCoder
import NIOCore
import OutgoingHTTP

/// The checks of settings that were written: what they name has to answer. What does not is reported, and may come later.
struct SetupCheck {
  let command: AgentCommand

  /// Returns the result of each check, that of the engine first.
  func findings() async -> [Finding] {
    let engine =
      if command.phone.engine.engine == .echo {
        Finding(
          "engine", .warn, "none is set: without one nothing is computed",
          fix: "start Ollama, llama.cpp or LM Studio, and run `edgeblue agent setup` again")
      } else {
        await EngineChecks.finding(command.phone.engine)
      }
    guard let url = command.coordinator.coordinator else { return [engine] }
    return [engine, await Self.coordinator(url, certificates: command.coordinator.coordinatorCa)]
  }

  /// Checks that a server answers at the address of a coordinator, with whatever status; nothing is registered.
  static func coordinator(_ url: String, certificates: String?) async -> Finding {
    do {
      let outgoing = try OutgoingHTTPClient(connectTimeout: .seconds(5), certificates: certificates)
      var request = HTTPClientRequest(url: url)
      request.method = .HEAD
      _ = try await outgoing.execute(request, timeout: .seconds(5))
      return Finding("coordinator", .ok, "a server answers at \(url)")
    } catch let error as OutgoingHTTPClient.UnreadableCertificates {
      return Finding("coordinator", .fail, "\(error.path): \(error)")
    } catch {
      let reason = ConnectionFailure(error).words
      return Finding("coordinator", .fail, "\(url): \(reason)", fix: "check the URL and the network")
    }
  }
}

extension ConnectionFailure {
  /// The failure in words, for display.
  var words: String {
    switch self {
    case .unknownHost: "the name is not known"
    case .noServer: "nothing answers"
    case .untrusted(let reason): "the server cannot be trusted: \(reason.words)"
    case .timedOut: "nothing answers in time"
    case .noProxy(let reason): reason
    case .tooLong: "the answer is too long"
    case .notHTTP: "the server does not speak HTTP"
    case .interrupted(let reason): "the connection broke off: \(reason)"
    }
  }
}
