import EdgeCoder
import EdgeCoderHTTP

/// A model server that runs on this machine.
struct FoundEngine: Sendable, Hashable {
  /// The name of the program, for display.
  var title: String
  var kind: EngineOptions.Kind
  var url: String
  /// The model that the server has loaded or lists first; `nil` if it names none.
  var model: String?

  var line: String { "\(title) at \(url)" + (model.map { ", with the model \($0.printable)" } ?? ", without a model") }
}

/// Looks for model servers at the usual addresses on this machine.
enum EngineFinder {
  /// The servers that are looked for, with their usual addresses.
  static let usual: [FoundEngine] = [
    FoundEngine(title: "Ollama", kind: .ollama, url: OllamaEngine.defaultURL),
    FoundEngine(title: "llama.cpp", kind: .openai, url: OpenAIEngine.defaultURL),
    FoundEngine(title: "LM Studio", kind: .openai, url: "http://127.0.0.1:1234"),
  ]

  /// Returns the servers that answer, in the order of `candidates`.
  static func find(_ candidates: [FoundEngine] = usual) async -> [FoundEngine] {
    await withTaskGroup(of: (Int, FoundEngine?).self) { group in
      for (number, candidate) in candidates.enumerated() {
        group.addTask { (number, await look(candidate)) }
      }
      var found: [Int: FoundEngine] = [:]
      for await (number, engine) in group { found[number] = engine }
      return found.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Returns a server with its model; `nil` if it does not answer as such a server does.
  static func look(_ candidate: FoundEngine) async -> FoundEngine? {
    guard let engine = try? candidate.engine(), case let state = await engine.modelState(), state.isOfServer else {
      return nil
    }
    var found = candidate
    found.model = await engine.activeModel()?.name
    return found.model == nil && state != .ready ? nil : found
  }
}

extension FoundEngine {
  /// Returns a client of the server.
  func engine(model: String? = nil) throws -> any Engine {
    kind == .ollama ? try OllamaEngine(url: url, model: model) : try OpenAIEngine(url: url, model: model)
  }
}

extension ModelState {
  /// A Boolean value that indicates whether a server reported the state.
  fileprivate var isOfServer: Bool {
    switch self {
    case .ready, .loading, .downloading: true
    case .notInstalled, .error: false
    }
  }
}
