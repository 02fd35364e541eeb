import Foundation
import Testing

@testable import edgeblue

@Suite("Settings from a file and the environment") struct SettingsTests {
  private let settings = Settings(
    prefix: "EDGEBLUE_TEST_",
    known: [
      Setting("engine"), Setting("engine-url", also: "MODEL_SERVER"), Setting("pace-ms", .number),
      Setting("quiet", .flag),
      Setting("allow", .list),
    ])

  private func additions(
    to given: [String] = [], file text: String? = nil, _ environment: [String: String] = [:]
  ) throws -> [Settings.Addition] {
    guard let text else { return try settings.additions(to: given, file: nil, environment: environment) }
    let path = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString).json").path
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try settings.additions(to: given, file: path, environment: environment).map {
      .init(words: $0.words, source: $0.source.replacing(path, with: "the file"))
    }
  }

  @Test("Every kind of setting is read from a file") func everyKindIsReadFromAFile() throws {
    let file = #"{"engine": "ollama", "pace-ms": 20, "quiet": true, "allow": ["a b", "c"]}"#
    #expect(
      try additions(file: file).map(\.words) == [
        ["--engine=ollama"], ["--pace-ms=20"], ["--quiet"], ["--allow=a b", "--allow=c"],
      ])
    #expect(try additions(file: #"{"quiet": false}"#) == [.init(words: [], source: "the file:1:2")])
    #expect(try additions(file: "{}") == [])
  }

  @Test("Every kind of setting is read from the environment") func everyKindIsReadFromTheEnvironment() throws {
    let environment = [
      "EDGEBLUE_TEST_PACE_MS": "20", "EDGEBLUE_TEST_QUIET": "yes", "EDGEBLUE_TEST_ALLOW": "a, b",
      "MODEL_SERVER": "http://x", "EDGEBLUE_TEST_ENGINE": "", "HOME": "/root",
    ]
    #expect(
      try additions(environment) == [
        .init(words: ["--engine-url=http://x"], source: "the variable MODEL_SERVER"),
        .init(words: ["--pace-ms=20"], source: "the variable EDGEBLUE_TEST_PACE_MS"),
        .init(words: ["--quiet"], source: "the variable EDGEBLUE_TEST_QUIET"),
        .init(words: ["--allow=a", "--allow=b"], source: "the variable EDGEBLUE_TEST_ALLOW"),
      ])
  }

  @Test("The command line takes precedence over a variable, and a variable over the file")
  func theCommandLineWinsOverAVariableAndThatOverTheFile() throws {
    let file = #"{"engine": "echo", "engine-url": "http://file"}"#
    let environment = ["EDGEBLUE_TEST_ENGINE_URL": "http://own", "MODEL_SERVER": "http://other"]
    #expect(
      try additions(file: file, environment).map(\.words) == [["--engine=echo"], ["--engine-url=http://own"]])
    for given in [["--engine", "openai"], ["--engine=openai"]] {
      #expect(try additions(to: given, file: file).map(\.words) == [["--engine-url=http://file"]])
    }
  }

  @Test(
    "An error names the invalid setting and its source",
    arguments: [
      (#"{"engin": "x"}"#, [:], "“engin”", "did you mean engine?"),
      (#"{"zzzzzzzz": 1}"#, [:], "“zzzzzzzz”", "engine, engine-url, pace-ms, quiet, allow"),
      ("{}", ["EDGEBLUE_TEST_ENGINE_ULR": "x"], "EDGEBLUE_TEST_ENGINE_ULR", "did you mean EDGEBLUE_TEST_ENGINE_URL?"),
      (#"{"pace-ms": "x"}"#, [:], "“pace-ms” is not a whole number", nil),
      (#"{"engine": 5}"#, [:], "is not a string", nil),
      (#"{"allow": "x"}"#, [:], "is not a list of strings", nil),
      (#"{"quiet": "x"}"#, [:], "is not true or false", nil),
      ("{}", ["EDGEBLUE_TEST_QUIET": "perhaps"], "is “perhaps”; allowed: true or false", nil),
      ("[]", [:], "not one JSON object", nil),
      ("{", [:], "settings", nil), (#"{"engine": {"a": 1}}"#, [:], "is not a string", nil),
    ] as [(String, [String: String], String, String?)])
  func whatCannotBeIsSaidWithItsPlace(
    file: String, environment: [String: String], message: String, hint: String?
  ) throws {
    let failure = try #require(throws: Failure.self) { try additions(file: file, environment) }
    #expect(failure.message.contains(message))
    #expect(failure.status == .badInput)
    if let hint { #expect(failure.hint?.contains(hint) == true) }
  }

  @Test("A missing settings file is an error") func aFileThatIsNotThereIsSaid() throws {
    #expect(throws: Failure.self) { try settings.additions(to: [], file: "/nowhere/agent.json", environment: [:]) }
  }

  @Test("The distance counts changed, added and removed characters") func distances() {
    #expect("kitten".distance(to: "sitting") == 3)
    #expect("".distance(to: "abc") == 3)
    #expect("abc".distance(to: "") == 3)
    #expect("Abc".distance(to: "aBC") == 0)
  }
}
