import Foundation
import SystemTesting
import Testing

/// Mistakes of a user and faults of a machine, as the commands for messages report them.
@Suite(
  "Mistakes with the commands for messages",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct MessagesMistakesTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-words-\(UUID().uuidString.prefix(8))"

  @Test("A file of keys that is missing is named, as something that is missing") func missingKeys() async throws {
    let key = try await makeKeys()
    let outcome = try await edgeblue(
      "setup --server http://127.0.0.1:1 --keys \(folder)/absent.json --root \(key) \(unlocked)")
    #expect(outcome.status == 69)
    #expect(outcome.errors.contains("\(folder)/absent.json: No such file or directory"))
    #expect(!FileManager.default.fileExists(atPath: folder + "/state"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test(
    "A full disk is something that is missing, and a disk that can only be read something that is not permitted",
    .enabled(if: SmallDisk.isPossible, "needs a file system of its own"), arguments: [true, false])
  func disks(isFull: Bool) async throws {
    let disk = try SmallDisk(megabytes: 1)
    try await setUp()
    for name in ["state", "keys"] {
      try FileManager.default.copyItem(atPath: folder + "/" + name, toPath: disk.path + "/" + name)
    }
    if isFull { try disk.fill() } else { try disk.protect() }
    let words = isFull ? "No space left on device" : "Read-only file system"
    for command in [
      "write --to desk --state \(disk.path)/state --passphrase-fd 3 3<\(folder)/pass",
      "keys make \(disk.path)/keys --recipient other",
    ] {
      let outcome = try await edgeblue(command, input: "text")
      #expect(outcome.status == (isFull ? 69 : 77), "\(command)")
      #expect(outcome.errors.contains(words))
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("A descriptor that is not open is named, with the reason; a line end of Windows is no part of a passphrase")
  func descriptors() async throws {
    try await setUp()
    let closed = try await edgeblue("write --to desk --state \(folder)/state --passphrase-fd 7", input: "text")
    #expect(closed.status == 65)
    #expect(closed.errors.contains("--passphrase-fd 7: Bad file descriptor"))
    try "correct horse\r\n".write(toFile: "\(folder)/pass", atomically: true, encoding: .utf8)
    #expect(try await edgeblue("status \(unlocked)").status == 0)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("A damaged record of the schedule is named, with what becomes of it") func damagedRecord() async throws {
    try await setUp()
    try "damaged".write(toFile: "\(folder)/state/sending.state", atomically: true, encoding: .utf8)
    let outcome = try await edgeblue("status --state \(folder)/state")
    #expect(outcome.status == 70)
    #expect(outcome.errors.contains("\(folder)/state/sending.state: the schedule's record has 7 bytes"))
    #expect(outcome.errors.contains("`edgeblue messages run` sets it aside"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test(
    "A collector whose port is in use names no program that it is not, and one without a certificate leaves nothing")
  func collectors() async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let collector = try ChildProcess(
      program, ["messages", "collect", "--to", "\(folder)/one", "--port", "0", "--json"])
    let port = try #require(field("port", of: try await collector.firstLine()))
    let second = try await edgeblue("collect --to \(folder)/two --port \(port)")
    #expect(second.status == 69)
    #expect(second.errors.contains("the port is in use"))
    #expect(!second.errors.contains("central"))
    try "no certificate".write(toFile: "\(folder)/pem", atomically: true, encoding: .utf8)
    let secured = try await edgeblue(
      "collect --to \(folder)/three --port 0 --certificate \(folder)/pem --key \(folder)/pem")
    #expect(secured.status == 65)
    #expect(secured.errors.contains("\(folder)/pem are no readable certificate and key"))
    #expect(!FileManager.default.fileExists(atPath: folder + "/three"))
    collector.signal(SIGTERM)
    #expect(await collector.wait() == 0)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("What is no segment is not opened: a text, a device, and a pipe") func noSegments() async throws {
    _ = try await makeKeys()
    try "not 773 bytes".write(toFile: "\(folder)/notes", atomically: true, encoding: .utf8)
    for path in ["\(folder)/notes", "/dev/zero", "/dev/stdin"] {
      let outcome = try await edgeblue("open \(path) --keys \(folder)/keys")
      #expect(outcome.status == 65)
      #expect(outcome.errors.contains("\(path) is no segment of messages"))
    }
    let absent = try await edgeblue("open \(folder)/absent --keys \(folder)/keys")
    #expect(absent.status == 69)
    #expect(absent.errors.contains("reading \(folder)/absent: No such file or directory"))
    // A collector may be about to append the rest.
    try Data(count: 774).write(to: URL(filePath: "\(folder)/messages-00000001.part"))
    let growing = try await edgeblue("open \(folder)/messages-00000001.part --keys \(folder)/keys")
    #expect(growing.status == 0)
    #expect(growing.errors.contains("1 not for these keys"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("Metrics of a program that ends at once are refused, and setup prints JSON for programs") func options()
    async throws
  {
    let setup = try await setUp(options: "--json")
    #expect(field("folder", of: setup) == "\(folder)/state")
    #expect(field("server", of: setup) == "http://127.0.0.1:1")
    let once = try await edgeblue("run --once --metrics-port 0 --state \(folder)/state")
    #expect(once.status == 64)
    #expect(once.errors.contains("--metrics-port"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("Every file and folder of a sender and of its keys is for its user only, whatever the mask of the shell")
  func modes() async throws {
    try await setUp()
    #expect(try await edgeblue("write --to desk \(unlocked)", input: "text").status == 0)
    #expect(try await edgeblue("run --once --state \(folder)/state").status == 0)
    var modes: [String: Int] = [:]
    for part in ["state", "keys"] {
      let names = try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/\(part)").map { "\(part)/\($0)" }
      for name in [part] + names {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
        modes[name] = attributes[.posixPermissions] as? Int
      }
    }
    let files = ["vault", "queue", "sending.state", "settings.json"].map { "state/" + $0 } + ["keys/root.key"]
    #expect(Set(modes.keys).isSuperset(of: files))
    for (name, mode) in modes { #expect(mode == (["state", "keys"].contains(name) ? 0o700 : 0o600), "\(name)") }
    try FileManager.default.removeItem(atPath: folder)
  }

  private var unlocked: String { "--state \(folder)/state --passphrase-fd 3 3<\(folder)/pass" }

  /// Makes keys, and returns the root key.
  private func makeKeys() async throws -> String {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try "correct horse".write(toFile: "\(folder)/pass", atomically: true, encoding: .utf8)
    let made = try await edgeblue("keys make \(folder)/keys --recipient desk --json")
    return try #require(field("root", of: made.output))
  }

  /// Makes keys and a sender that uses them, and returns what `setup` prints.
  @discardableResult private func setUp(options: String = "") async throws -> String {
    let key = try await makeKeys()
    let setup = try await edgeblue(
      "setup --server http://127.0.0.1:1 --keys \(folder)/keys/keys.json --root \(key) \(options) \(unlocked)")
    try #require(setup.status == 0, "\(setup.errors)")
    return setup.output
  }

  private func edgeblue(
    _ arguments: String, input: String = ""
  ) async throws -> (status: Int32, output: String, errors: String) {
    let child = try ChildProcess(
      "sh", ["-c", "umask 0; exec \(program) messages \(arguments)"], hasInput: true, errors: .kept)
    try await child.write(input)
    child.input.close()
    return await child.outcome()
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
