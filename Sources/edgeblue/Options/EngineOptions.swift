import ArgumentParser
import EdgeCoder

/// The options that select the engine that runs prompts.
struct EngineOptions: ParsableArguments {
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case echo, ollama, openai
  }

  @Option(
    help:
      "The engine that answers prompts: echo (repeats each prompt, for tests), ollama, or openai (any server with OpenAI's API, such as llama.cpp's)."
  )
  var engine = Kind.echo
  @OptionGroup var server: ModelServerOptions

  func validate() throws {
    if engine == .echo, server.url != nil || server.model != nil {
      throw ValidationError("The echo engine has no URL and no model; add --engine ollama or --engine openai.")
    }
    guard engine == .openai || server.keyFile == nil else {
      throw ValidationError("--engine-key-file: only the engine openai has a key.")
    }
  }

  /// Returns the engine that the options describe.
  func makeEngine() throws -> any Engine {
    switch engine {
    case .echo: EchoEngine()
    case .ollama: try server.engine(.ollama)
    case .openai: try server.engine(.openai)
    }
  }

  /// The name of the engine, with the model if one is set.
  var title: String { engine.rawValue + (server.model.map { " with \($0)" } ?? "") }
}
