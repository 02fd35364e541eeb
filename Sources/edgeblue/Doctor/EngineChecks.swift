import EdgeCoder
import EdgeCoderHTTP

/// Whether something is there to answer prompts.
enum EngineChecks {
  static func finding(_ options: EngineOptions) async -> Finding {
    guard options.engine != .echo else { return await anyEngine() }
    do {
      let engine = try options.makeEngine()
      let state = await engine.modelState()
      return Finding("engine", state == .ready ? .ok : .fail, "\(options.title): \(words(for: state))", fix: fix(state))
    } catch {
      let failure = Failure(error)
      return Finding("engine", .fail, failure.message, fix: failure.hint)
    }
  }

  /// Without a choice: is one of the usual ones there? None is needed for the Mac role.
  private static func anyEngine() async -> Finding {
    do {
      let ollama = try OllamaEngine()
      let openAI = try OpenAIEngine()
      async let first = ollama.modelState()
      async let second = openAI.modelState()
      if await first == .ready { return Finding("engine", .ok, "Ollama answers at \(OllamaEngine.defaultURL)") }
      if await second == .ready {
        return Finding("engine", .ok, "an OpenAI-compatible server answers at \(OpenAIEngine.defaultURL)")
      }
    } catch {
      return Finding("engine", .warn, Failure(error).message)
    }
    return Finding(
      "engine", .warn, "neither Ollama nor an OpenAI-compatible server answers at its usual address",
      fix: "only `edgeblue phone` needs one; without it there is --engine echo")
  }

  private static func words(for state: ModelState) -> String {
    switch state {
    case .ready: "a prompt sent now is answered"
    case .notInstalled: "the server or the model is not there"
    case .downloading: "the model is being fetched"
    case .loading: "the model is being loaded"
    case .error: "the server is there but does not work"
    }
  }

  private static func fix(_ state: ModelState) -> String? {
    switch state {
    case .ready: nil
    case .notInstalled: "start the server, check --engine-url and --model, or fetch the model"
    case .downloading, .loading: "wait a little"
    case .error: "look at the server's log; it may want a key in EDGEBLUE_API_KEY"
    }
  }
}
