import AudioIngestTesting
import Foundation
import Testing

/// The HTTP API's clients of others, with everything that a person runs: they ask a central, which asks over the air a
/// phone that has a real llama.cpp with a tiny model that sees.
extension RadioTests {
  @Suite(
    "Clients of the HTTP API, over the radio",
    .enabled(if: ProcessInfo.processInfo.environment["EDGEBLUE_CLIENTS"] != nil, "scripts/test clients runs them"),
    .enabled(if: Command.isBuilt, Command.needed))
  struct Clients {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// Starts a script of the tests of the API with the packages of an environment.
    private static func python(_ environment: String, _ script: String, _ arguments: [String]) throws -> Subprocess {
      let path = root.appending(path: "Tests/EdgeCoderHTTPTests/Python/\(script)").path
      return try Subprocess(
        root.appending(path: "\(environment)/bin/python3").path, ["-u", path] + arguments, hasKeyboard: true)
    }

    private static func edgeblue(_ arguments: String...) throws -> Subprocess {
      try Subprocess(Command.path, arguments + ["--access", "open", "--json"])
    }

    /// Runs a client against a central whose phone has a real model, and returns what it understood.
    /// - Parameter arguments: Its arguments, from the address of that model's server.
    private func found(
      by environment: String, _ script: String, _ arguments: (String) -> [String] = { _ in [] }
    ) async throws -> [String: Any] {
      let folder = try TemporaryFolder()
      let server = try Self.python(
        ".venv-peers", "llama_server.py", [folder.path + "/tiny.gguf", "4096", folder.path + "/eyes.gguf"])
      defer { server.kill() }
      let model = try await server.line(with: "http://127.0.0.1:")
      let phone = try Self.edgeblue(
        "phone", "--adapter", Radio.phone, "--engine", "openai", "--engine-url", model, "--link", "auto")
      let central = try Self.edgeblue("central", "--adapter", Radio.mac, "--port", "11435")
      _ = try await central.line(with: "\"ready\"")
      let client = try Self.python(environment, script, ["http://127.0.0.1:11435"] + arguments(model))
      let printed = try await client.line(with: "{", within: .seconds(500))
      #expect(try await central.end() == 0)
      #expect(try await phone.end() == 0)
      return try #require(try JSONSerialization.jsonObject(with: Data(printed.utf8)) as? [String: Any])
    }

    @Test("langchain, litellm, llm and instructor chat, stream and get their schemas", .timeLimit(.minutes(10)))
    func theClientsOfOthers() async throws {
      let home = try TemporaryFolder()
      let found = try await found(by: ".venv-clients", "clients.py") { _ in [home.path] }
      #expect(found["langchain_ollama"] as? [AnyHashable] == ["yes", "length", 8, "yes", "yes", "yes"])
      #expect(found["langchain_openai"] as? [AnyHashable] == ["yes", "length", 8, "yes", "yes"])
      // Of a prompt to Ollama's /api/generate litellm itself says `stop`, whatever the reason.
      #expect(found["litellm"] as? [String] == ["yes", "length", "yes", "yes", "stop", "yes", "yes", "length", "yes"])
      #expect(found["llm"] as? [String] == ["yes", "yes"])
      #expect(found["instructor"] as? [String] == ["yes"])
    }

    @Test(
      "The older lines of OpenAI's client chat and stream", .timeLimit(.minutes(10)),
      arguments: [".venv-openai-1", ".venv-openai-2"])
    func theOlderClients(environment: String) async throws {
      let found = try await found(by: environment, "openai_older.py")
      #expect(found["whole"] as? [AnyHashable] == ["yes", "length", 8])
      #expect(found["streamed"] as? [AnyHashable] == ["yes", 8])
      #expect(found["models"] as? [String] == ["edgecoder"])
    }

    @Test("A phone's model sees what Ollama's and OpenAI's clients attach", .timeLimit(.minutes(10)))
    func aModelSeesPictures() async throws {
      let found = try await found(by: ".venv-peers", "pictures.py") { [$0] }
      let pictures = try #require(found["pictures"] as? [[String: [AnyHashable]]])
      #expect(pictures.count == 2)
      for picture in pictures {
        #expect(picture["ollama"] == picture["server"])
        #expect(picture["openai"] == picture["server"])
      }
      #expect(pictures.first?["server"]?.first != pictures.last?["server"]?.first)
    }
  }
}
