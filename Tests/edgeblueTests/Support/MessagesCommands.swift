import Foundation
import SystemTesting
import Testing

/// The built commands for messages, with a folder for their files.
struct MessagesCommands {
  /// The folder, which the test removes at its end.
  let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-messages-\(UUID().uuidString.prefix(8))"
  private let program: String

  /// Creates the folder.
  init(_ program: String) throws {
    self.program = program
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  /// The options for the sender's folder and the passphrase on a descriptor that the shell opens.
  var unlocked: String { "--state \(folder)/state --passphrase-fd 3 3<\(folder)/pass" }

  /// Makes keys and a passphrase, sets up a sender, and returns the root key.
  @discardableResult func setUp(server: String) async throws -> String {
    let root = try await edgeblue("keys make \(folder)/keys --recipient desk --json")
    let key = try #require(field("root", of: root))
    try "correct horse".write(toFile: "\(folder)/pass", atomically: true, encoding: .utf8)
    _ = try await edgeblue("setup --server \(server) --keys \(folder)/keys/keys.json --root \(key) \(unlocked)")
    return key
  }

  /// Starts a collector of the folder `collected` on a free port.
  func collect(_ options: [String] = [], errors: ChildProcess.Print = .shown) throws -> ChildProcess {
    try ChildProcess(
      program, ["messages", "collect", "--to", "\(folder)/collected", "--port", "0", "--json"] + options, errors: errors
    )
  }

  /// Runs a command with a shell, which opens descriptors, and returns its output.
  func edgeblue(_ arguments: String, input: String = "") async throws -> String {
    let (status, output) = try await shell(arguments, input)
    #expect(status == 0, "edgeblue messages \(arguments): \(output)")
    return output
  }

  /// Runs a command that fails, and returns its status.
  func failure(_ arguments: String, input: String = "") async throws -> Int32 {
    try await shell(arguments, input).status
  }

  /// Runs a command with a shell, and returns its status and everything that it printed.
  func shell(_ arguments: String, _ input: String) async throws -> (status: Int32, output: String) {
    let child = try ChildProcess(
      "sh", ["-c", "exec \(program) messages \(arguments)"], hasInput: true, errors: .kept)
    try await child.write(input)
    child.input.close()
    let (status, output, errors) = await child.outcome()
    return (status, status == 0 ? output : output + errors)
  }

  /// Removes the folder.
  func remove() throws { try FileManager.default.removeItem(atPath: folder) }
}

extension ChildProcess {
  /// Reads the lines of JSON that the command prints until each of some events was among them, in whatever order, and
  /// returns the port in each.
  func ports(in events: String...) async throws -> [Int] {
    var found: [String: Int] = [:]
    while found.count < events.count {
      let line = try await firstLine()
      guard let event = field("event", of: line), events.contains(event) else { continue }
      let port: Int = try #require(field("port", of: line).flatMap { Int($0) }, "\(line)")
      found[event] = port
    }
    return events.compactMap { found[$0] }
  }
}
