import Foundation
import Glibc
import MessageSending
import SystemTesting
import Testing
import Timing

/// A sender that is set up, and lives of its real program under strace with queues of its own.
final class ObservedProgram: Sendable {
  /// The program that sends.
  enum Program {
    /// The command, on clocks that run an hour in a second.
    case edgeblue
    /// The process of these tests with a fault of a sender, or with "none".
    case process(fault: String)
  }

  /// The attempts of a life that are compared: the script, and one more run.
  static let attempts = 9

  static let edgeblue = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../.build/debug/edgeblue").standardized.path

  /// A Boolean value that indicates whether there are the programs, strace, and the right to trace one that forbids it.
  static let isPossible: Bool = {
    guard FileManager.default.isExecutableFile(atPath: edgeblue), geteuid() == 0 else { return false }
    guard ChildProcess.path(of: "strace") != nil else { return false }
    do {
      return try ChildProcess("strace", ["-D", "-f", "-o", "/dev/null", "true"], errors: .discarded).wait() == 0
    } catch { return false }
  }()

  /// The server's answers: a run, a failed one, its retry that is refused in the middle, the rest of it, and runs.
  private static let script = [200, 200, 503, 503, 200, 503, 200]
  /// The ticks of the process of these tests: runs, early ones, and the retries of the failed ones.
  private static let seconds = ["4000", "5000", "8000", "8700", "10000", "11000", "15000", "16000"]

  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-observed-\(UUID().uuidString.prefix(8))"
  private let keys: RecipientKeys
  private let covers: KeyedCovers

  /// Makes keys and the folder of a sender.
  init() async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let root = try RootSecretKey(seed: SecretBytes(randomCount: 32))
    let now = WallClock.unixMilliseconds()
    let recipient = RecipientKeys.Recipient(id: "desk", key: try BoxSecretKey().publicKey)
    keys = try RecipientKeys(
      nodes: [try BoxSecretKey().publicKey, try BoxSecretKey().publicKey], recipients: [recipient], issuedMs: now,
      expiresMs: now + 86_400_000)
    covers = KeyedCovers(keys: keys) { now }
    try Data(try SignedKeys(keys, signedBy: root).document()).write(to: URL(filePath: folder + "/keys.json"))
    try Data("correct horse\n".utf8).write(to: URL(filePath: folder + "/pass"))
    try Data(Data(root.publicKey.bytes).base64EncodedString().utf8).write(to: URL(filePath: folder + "/root"))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }  // A folder for temporary files.

  /// Runs a program for some hours of its own with a number of messages in its queue.
  func live(_ program: Program = .edgeblue, messages: Int) async throws -> ObservedTraces {
    let server = try RawServer { number, bytes in
      let status = Self.script.indices.contains(number) ? Self.script[number] : 200
      return RawServer.whenWhole("HTTP/1.1 \(status) Answer\r\nContent-Length: 0\r\n\r\n")(number, bytes)
    }
    // All names have one length, because they are in what is written about them.
    let life = folder + "/life-\(UUID().uuidString.prefix(8))"
    let (state, calls) = (life + "/state", life + "/calls")
    try FileManager.default.createDirectory(atPath: calls, withIntermediateDirectories: true)
    let command = try await command(program, state: state, port: server.port)
    try write(messages, to: state)
    let before = try files(state)
    // The number of a file that is open is not given to another one.
    let held = before.keys.map { FileHandle(forReadingAtPath: state + "/" + $0) }
    defer { withExtendedLifetime(held) {} }
    let sender = try ChildProcess(
      "strace",
      ["-D", "-ff", "-ttt", "-yy", "-s", "160", "-e", "trace=" + SystemCallTrace.families, "-o", calls + "/call"]
        + command,
      // Where there is a bus, the program asks it about sleep, at times of its own.
      environment: ProcessInfo.processInfo.environment.merging(
        ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/no-bus"]) { $1 }, errors: .discarded)
    if case .edgeblue = program {
      try await eventually("the attempts of a life", within: .seconds(120)) {
        server.connections.count > Self.attempts
      }
      sender.signal(SIGTERM)
    }
    try #require(await sender.outcome().status == 0)
    try await SystemCallTrace.waitForEnd(of: calls)
    // The stop of the command is at no certain instant, and is not compared; that of the process is.
    let limit = if case .edgeblue = program { Self.attempts } else { Int.max }
    let trace = try SystemCallTrace(folder: calls, state: state, attempts: limit)
    return try observation(trace, server.connections, before, state)
  }

  /// Makes the folder of a sender, and returns the command that sends from it.
  private func command(_ program: Program, state: String, port: Int) async throws -> [String] {
    switch program {
    case .process(let fault):
      try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
      let path = URL(filePath: Self.edgeblue).deletingLastPathComponent().appending(path: "message-sender-process").path
      return [path, state, "\(port)", fault] + Self.seconds
    case .edgeblue:
      let setup = try ChildProcess(
        "sh",
        [
          "-c",
          "exec \(Self.edgeblue) messages setup --state \(state) --server http://127.0.0.1:\(port) "
            + "--keys \(folder)/keys.json --root \"$(cat \(folder)/root)\" --passphrase-fd 3 3< \(folder)/pass",
        ], output: .discarded)
      try #require(await setup.outcome().status == 0)
      return [Self.edgeblue, "messages", "run", "--state", state, "--pace", "3600", "--json"]
    }
  }

  private func write(_ messages: Int, to state: String) throws {
    let queue = try SendingQueue.open(path: state + "/queue", covers: covers) { Issue.record("\($0)") }
    // The secret that the process of these tests has for its faults.
    var bytes = Array("secret__secret__".utf8)
    let secret = try SecretBytes(taking: &bytes)
    let user = try BoxSecretKey().publicKey
    for number in 0..<messages {
      _ = try queue.append(
        MessageSealer(keys: keys).message("message \(number)", to: "desk", from: user), secret: secret)
    }
    try Vault(path: state + "/vault").touch()
  }

  private func observation(
    _ trace: SystemCallTrace, _ requests: [[UInt8]], _ before: [String: UInt64], _ state: String
  ) throws -> ObservedTraces {
    var observation = ObservedTraces(parts: trace.parts)
    let bodies = requests.prefix(Self.attempts).map { Array($0.suffix(MessageBody.byteCount)) }
    observation.bodies = bodies.map { body in bodies.firstIndex(of: body) ?? -1 }
    observation.requests = Set(requests.prefix(Self.attempts).map(\.count))
    for (name, inode) in try files(state) {
      let attributes = try FileManager.default.attributesOfItem(atPath: state + "/" + name)
      observation.files.insert(
        "\(name) \(attributes[.size] ?? "") \(attributes[.posixPermissions] ?? "") \(before[name] == inode)")
    }
    return observation
  }

  /// The inodes of the files of a sender, by name.
  private func files(_ state: String) throws -> [String: UInt64] {
    var inodes: [String: UInt64] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: state) {
      inodes[name] = try FileManager.default.attributesOfItem(atPath: state + "/" + name)[.systemFileNumber] as? UInt64
    }
    return inodes
  }
}
