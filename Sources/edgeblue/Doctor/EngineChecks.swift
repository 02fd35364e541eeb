import EdgeCoder
import EdgeCoderHTTP

/// The check of the engine that answers prompts.
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

  /// Checks the default addresses of Ollama and OpenAI servers. Only the phone role needs an engine.
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
      "engine", .warn, "neither Ollama nor an OpenAI-compatible server answers at its default address",
      fix: "only `edgeblue phone` and `edgeblue agent` need one; for tests, use --engine echo")
  }

  private static func words(for state: ModelState) -> String {
    switch state {
    case .ready: "ready"
    case .notInstalled: "the server does not answer, or has no such model"
    case .downloading: "the model is being downloaded"
    case .loading: "the model is being loaded"
    case .error: "the server answers with an error"
    }
  }

  private static func fix(_ state: ModelState) -> String? {
    switch state {
    case .ready: nil
    case .notInstalled: "start the server, check --engine-url and --model, or download the model"
    case .downloading, .loading: "wait until it is ready"
    case .error: "see the log of the server; it may require a key, in the file that --engine-key-file names"
    }
  }
}
