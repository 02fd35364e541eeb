import Foundation
import MessageSending
import Streams
import SystemTesting
import Testing

/// A sender that is set up, and runs of its real program under strace with queues of its own.
final class ObservedProgram: Sendable {
  /// Everything that an observer of the disk, the log and the network sees of a run, besides random bytes and times.
  struct Observation: Equatable {
    var parts: [String: Set<SystemCallTrace.Part>] = [:]
    /// The sizes of packets to the network, each once.
    var packets: Set<Int> = []
    /// For each attempt, the number of the first one with the same body.
    var bodies: [Int] = []
    /// Name, size, mode and change of inode of each file.
    var files: Set<String> = []
  }

  static let path = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../.build/debug/edgeblue").standardized.path

  /// A Boolean value that indicates whether there are the program, strace, and the right to trace.
  static let isPossible: Bool = {
    guard FileManager.default.isExecutableFile(atPath: path), ChildProcess.path(of: "strace") != nil else {
      return false
    }
    do {
      return try ChildProcess("strace", ["-f", "-o", "/dev/null", "true"], errors: .discarded).wait() == 0
    } catch { return false }
  }()

  /// The server's answers: a run, a failed one, its retry that is refused in the middle, the rest of it, and runs.
  private static let script = [200, 200, 503, 503, 200, 503, 200]
  /// The attempts of a run of the program that are compared: the script, and one more run.
  private static let attempts = 9

  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-observed-\(UUID().uuidString.prefix(8))"
  private let keys: RecipientKeys
  private let covers: KeyedCovers
  private let server: RawServer
  /// The number of connections before the run in progress.
  private let first = Lock(0)

  /// Makes keys and the folder of a sender.
  init() async throws {
    let first = first
    server = try RawServer { number, bytes in
      let place = number - first.withLock { $0 }
      let status = Self.script.indices.contains(place) ? Self.script[place] : 200
      return RawServer.whenWhole("HTTP/1.1 \(status) Answer\r\nContent-Length: 0\r\n\r\n")(number, bytes)
    }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let root = try RootSecretKey(seed: SecretBytes(randomCount: 32))
    let now = Int64(Date().timeIntervalSince1970) * 1000
    let recipient = RecipientKeys.Recipient(id: "desk", key: try BoxSecretKey().publicKey)
    keys = try RecipientKeys(
      nodes: [try BoxSecretKey().publicKey, try BoxSecretKey().publicKey], recipients: [recipient], issuedMs: now,
      expiresMs: now + 86_400_000)
    covers = KeyedCovers(keys: keys) { now }
    try Data(try SignedKeys(keys, signedBy: root).document()).write(to: URL(filePath: folder + "/keys.json"))
    try Data("correct horse\n".utf8).write(to: URL(filePath: folder + "/pass"))
    let pinned = Data(root.publicKey.bytes).base64EncodedString()
    let setup = try ChildProcess(
      "sh",
      [
        "-c",
        "exec \(Self.path) messages setup --state \(folder)/made --server http://127.0.0.1:\(server.port) "
          + "--keys \(folder)/keys.json --root '\(pinned)' --passphrase-fd 3 3< \(folder)/pass",
      ], output: .discarded)
    try #require(await setup.outcome().status == 0)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }  // A folder for temporary files.

  /// Runs the program for some hours of its own with a number of messages in its queue.
  func run(messages: Int, planting leak: SystemCallTrace.Leak? = nil) async throws -> Observation {
    let state = folder + "/state"
    for old in [state, folder + "/trace"] where FileManager.default.fileExists(atPath: old) {
      try FileManager.default.removeItem(atPath: old)
    }
    try FileManager.default.copyItem(atPath: folder + "/made", toPath: state)
    try FileManager.default.createDirectory(atPath: folder + "/trace", withIntermediateDirectories: true)
    try write(messages, to: state)
    let before = try files(state)
    first.withLock { $0 = server.connections.count }
    let sender = try ChildProcess(
      "strace",
      [
        "-ff", "-ttt", "-yy", "-s", "120", "-o", folder + "/trace/call", Self.path, "messages", "run", "--state", state,
        "--pace", "7200", "--json",
      ])
    let start = first.withLock { $0 }
    try await eventually("the attempts of a life", within: .seconds(60)) {
      server.connections.count >= start + Self.attempts + 2
    }
    sender.signal(SIGTERM)
    try #require(await sender.outcome().status == 0)
    var trace = try SystemCallTrace(folder: folder + "/trace", state: state)
    if let leak { trace.plant(leak) }
    return try observation(trace, server.connections[start...].prefix(Self.attempts), before, state, leak)
  }

  private func write(_ messages: Int, to state: String) throws {
    let queue = try SendingQueue.open(path: state + "/queue", covers: covers) { Issue.record("\($0)") }
    let secret = try SecretBytes(randomCount: SendingQueue.secretByteCount)
    let user = try BoxSecretKey().publicKey
    for number in 0..<messages {
      _ = try queue.append(
        MessageSealer(keys: keys).message("message \(number)", to: "desk", from: user), secret: secret)
    }
  }

  private func observation(
    _ trace: SystemCallTrace, _ requests: ArraySlice<[UInt8]>, _ before: [String: UInt64], _ state: String,
    _ leak: SystemCallTrace.Leak?
  ) throws -> Observation {
    var observation = Observation(parts: trace.parts, packets: Set(trace.packets))
    let bodies = requests.map { Array($0.suffix(MessageBody.byteCount)) }
    observation.bodies = bodies.indices.map { place in
      let same = bodies.firstIndex(of: bodies[place]) ?? place
      return leak == .freshCoverForRetry ? place : same
    }
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
