import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing

/// `edgeblue messages` as it was built, at a terminal of its own.
@Suite(
  "The commands for messages at a terminal",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .enabled(if: ChildProcess.path(of: "script") != nil, "needs script"), .timeLimit(.minutes(5)))
struct MessagesTerminalTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-typed-\(UUID().uuidString.prefix(8))"

  @Test("The passphrase is asked for without echo, and each key shows how full the message is")
  func aMessageIsTyped() async throws {
    try await setUp()
    let terminal = try Terminal("exec \(program) messages write --to desk --state \(folder)/state")
    try await terminal.answer("Passphrase: ", with: "correct horse\r")
    try await terminal.answer("Ctrl-D ends it.", with: "H")
    let one = try await terminal.fullness(before: "H")
    try await terminal.answer("/512", with: "\u{7f}")
    try await terminal.type("Hello, you.")
    let whole = try await terminal.fullness(before: "Hello, you.")
    #expect(one < whole)
    try await terminal.type("\u{4}")
    #expect(try await terminal.status() == 0)
    #expect(terminal.said.contains("waits in the queue, \(whole)/512 full"))
    #expect(!terminal.said.contains("correct"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("A text that does not fit is shown in red, and refused") func aLongTextIsTyped() async throws {
    try await setUp()
    var random = SeededGenerator(seed: 2)
    let noise = (0..<900).map { _ in String(UInt8.random(in: 0..<36, using: &random), radix: 36) }.joined()
    let terminal = try Terminal("exec \(program) messages write --to desk --state \(folder)/state")
    try await terminal.answer("Passphrase: ", with: "correct horse\r")
    try await terminal.answer("Ctrl-D ends it.", with: noise)
    try await eventually { terminal.said.hasSuffix(noise) }
    #expect(terminal.said.contains("\u{1b}[31m"))
    try await terminal.type("\u{4}")
    #expect(try await terminal.status() == 65)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("While it knows the passphrase it would leave no core, and its secrets are locked into memory")
  func secretsStayInMemory() async throws {
    try await setUp()
    let terminal = try Terminal(
      "echo $$ >\(folder)/number; exec \(program) messages write --to desk --state \(folder)/state")
    try await terminal.answer("Passphrase: ", with: "correct horse\r")
    try await eventually { terminal.said.contains("Ctrl-D ends it.") }
    let number = try number()
    func words(_ file: String, _ name: String) throws -> [Substring] {
      let lines = try String(contentsOfFile: "/proc/\(number)/\(file)", encoding: .utf8).split(separator: "\n")
      return try #require(lines.first { $0.hasPrefix(name) }).dropFirst(name.count).split(separator: " ")
    }
    #expect(try words("limits", "Max core file size").prefix(2) == ["0", "0"])
    #expect(try Int(words("status", "VmLck:\t")[0]) ?? 0 > 0)
    try await terminal.type("\u{3}")
    #expect(try await terminal.status() != 0)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("Backspace at the question for the passphrase removes a character, and no arrow key is part of it")
  func aPassphraseIsCorrected() async throws {
    try await setUp(passphrase: "päss")
    let terminal = try Terminal("exec \(program) messages status --unlock --state \(folder)/state")
    try await terminal.answer("Passphrase: ", with: "pä\u{7f}\u{1b}[Däs\u{1b}OC\u{1b}[1;5Cs\r")
    #expect(try await terminal.status() == 0)
    #expect(terminal.said.contains("waiting    0 of 8"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("A line that is longer than the terminal is wide stays in its row, and shows its end; arrow keys are no text")
  func aLongLineStaysInItsRow() async throws {
    try await setUp()
    let terminal = try Terminal(
      "stty cols 80 rows 24; exec \(program) messages write --to desk --state \(folder)/state")
    try await terminal.answer("Passphrase: ", with: "correct horse\r")
    let text = (0..<91).map { String($0 % 10) }.joined()
    try await terminal.answer("Ctrl-D ends it.", with: text + "\u{1b}[D\u{1b}OA\u{1b}[3~\u{1b}[[A!")
    try await eventually { terminal.said.hasSuffix("567890!") }
    let drawn = terminal.said.components(separatedBy: "\r\u{1b}[K").dropFirst()
    let lines = drawn.map { $0.replacing(/\e\[\d+m/, with: "") }
    #expect(lines.count == 92)
    #expect(lines.allSatisfy { $0.count <= 80 })
    #expect(lines.last?.contains("…") == true)
    #expect(!lines.contains { $0.contains("[") })
    try await terminal.type("\u{4}")
    #expect(try await terminal.status() == 0)
    #expect(terminal.said.contains("\u{1b}[?7h"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test(
    "A signal that ends the program at a question leaves the terminal as it was", arguments: [SIGTERM, SIGINT, SIGHUP])
  func aSignalRestoresTheTerminal(signal: Int32) async throws {
    try await setUp()
    let command = "\(program) messages write --to desk --state \(folder)/state"
    let terminal = try Terminal(
      "sh -c 'echo $$ >\(folder)/number; exec \(command)'; echo status $?; stty -a; exit 0")
    try await eventually { terminal.said.contains("Passphrase: ") }
    kill(try number(), signal)
    #expect(try await terminal.status() == 0)
    #expect(terminal.said.contains("status 130"))
    #expect(terminal.said.contains(" echo "))
    #expect(!terminal.said.contains("-icanon"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("Ctrl-Z stops the program with the terminal as it was, and the question is asked again afterwards")
  func ctrlZStopsTheProgram() async throws {
    try await setUp()
    let command = "\(program) messages status --unlock --state \(folder)/state"
    let terminal = try Terminal("bash -mc '\(command); stty -a; fg; exit 0'")
    try await terminal.answer("Passphrase: ", with: "corr\u{1a}")
    try await eventually { terminal.said.components(separatedBy: "Passphrase: ").count == 3 }
    #expect(terminal.said.contains(" echo "))
    #expect(!terminal.said.contains("-icanon"))
    try await terminal.type("ect horse\r")
    #expect(try await terminal.status() == 0)
    #expect(terminal.said.contains("waiting    0 of 8"))
    try FileManager.default.removeItem(atPath: folder)
  }

  /// The process that has written its number.
  private func number() throws -> pid_t {
    let text = try String(contentsOfFile: folder + "/number", encoding: .utf8)
    return try #require(pid_t(text.trimmingCharacters(in: .newlines)))
  }

  /// Makes keys and a sender that uses them, whose passphrase a descriptor has.
  private func setUp(passphrase: String = "correct horse") async throws {
    let commands = """
      cd \(folder) && printf '\(passphrase)' >pass && \(program) messages keys make keys --recipient desk --json >root &&
      \(program) messages setup --state state --server http://127.0.0.1:1 --keys \(folder)/keys/keys.json \
        --root "$(sed -E 's/.*"root":"([^"]*)".*/\\1/' root)" --passphrase-fd 3 3<pass
      """
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let setup = try ChildProcess("sh", ["-c", commands], output: .discarded)
    try #require(await setup.outcome().status == 0)
  }
}

/// A program at a terminal of its own, which the test types at.
private final class Terminal: Sendable {
  private let child: ChildProcess
  private let text = Lock("")
  private let ended = Lock<Int32?>(nil)

  init(_ command: String) throws {
    child = try ChildProcess("script", ["-qefc", command, "/dev/null"], hasInput: true)
    Thread.detachNewThread { [child, text, ended] in
      var bytes: [UInt8] = []
      while case let more = read(child.output), !more.isEmpty {
        bytes += more
        let all = String(decoding: bytes, as: UTF8.self)
        text.withLock { $0 = all }
      }
      let status = child.wait()
      ended.withLock { $0 = status }
    }
  }

  /// What the terminal has shown so far.
  var said: String { text.withLock { $0 } }

  /// Waits for the end of the program, and returns its exit status.
  func status() async throws -> Int32? {
    try await eventually("the end of the program") { ended.withLock { $0 } != nil }
    return ended.withLock { $0 }
  }

  func type(_ keys: String) async throws { try await child.write(keys) }

  /// Waits for a question, and types the answer.
  func answer(_ question: String, with keys: String) async throws {
    try await eventually("'\(question)'") { said.contains(question) }
    try await type(keys)
  }

  /// Returns the number of bytes that is shown before a text.
  func fullness(before text: String) async throws -> Int {
    let end = "/512\u{1b}[0m " + text
    try await eventually("the number before '\(text)'") { said.contains(end) }
    let before = said.components(separatedBy: end)[0]
    return try #require(Int(before.reversed().prefix { $0.isNumber }.reversed().map(String.init).joined()))
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
