import DeterministicTesting
import Foundation
import MessageSending
import Streams
import SystemTesting

/// The lives of a sender in a process of its own, each killed at a call of the kernel, with a server that keeps what it
/// receives and a user who writes meanwhile.
final class KilledSender: Sendable {
  /// What has happened in all lives.
  struct Result {
    var messages = 0
    var received = 0
    var doubledCovers = 0
    var doubledMessages = 0
    var faults: [String] = []
  }

  private struct State {
    var random: SeededGenerator
    /// The hint of each message that is on disk, by its bytes.
    var hints: [[UInt8]: MessageHint] = [:]
    var written: [[UInt8]] = []
    var wasKilled: [Bool] = []
    /// The number of requests at the start of each life.
    var starts: [Int] = []
    var problems: [String] = []
    /// The messages that the server has received whole, by the number of their request.
    var bodies: [Int: [UInt8]] = [:]
  }

  private static let process = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "message-sender-process").path

  static let isPossible = SystemCallKill.isPossible && ChildProcess.path(of: process) != nil

  /// The calls at which it is killed, and how many of each a thread makes in a life, about.
  private static let calls = [
    ("flock", 60), ("unlinkat", 24), ("fdatasync", 24), ("renameat", 24), ("fsync", 24), ("write", 60), ("connect", 6),
    ("writev", 6), ("getrandom", 60),
  ]

  let seed: UInt64
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-killed-\(UUID().uuidString.prefix(8))"
  private let server: RawServer
  private let queue: SendingQueue
  private let secret: SecretBytes
  private let state: Lock<State>

  init(seed: UInt64) throws {
    self.seed = seed
    state = Lock(State(random: SeededGenerator(seed: seed)))
    // It has a message before it answers.
    server = try RawServer(RawServer.whenWhole("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var bytes = Array("secret__secret__".utf8)
    secret = try SecretBytes(taking: &bytes)
    queue = try SendingQueue.open(path: folder + "/queue", covers: RandomCovers()) { [state] problem in
      state.withLock { $0.problems.append("\(problem)") }
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }  // A folder for temporary files.

  /// Lets it live for three runs, and messages be written meanwhile.
  /// - Returns: The call at which it was killed; `nil` if it does not make that call so often.
  func live(_ number: Int) async throws -> String? {
    let kill = state.withLock { state in
      let (call, count) = Self.calls[number % Self.calls.count]
      return SystemCallKill(at: call, number: Int.random(in: 1...count, using: &state.random))
    }
    state.withLock { $0.starts.append(server.connections.count) }
    let sender = try ChildProcess("strace", kill.arguments + command(number), errors: .discarded)
    try write(2)
    let (status, output, _) = await sender.outcome()
    state.withLock { $0.wasKilled.append(status == -1) }
    if output.contains("problem") || output.contains("error") { fault("life \(number): \(output)") }
    return status == -1 ? kill.call : nil
  }

  /// Sends all that waits, without a kill.
  func finish(_ number: Int) async throws {
    for life in 0..<3 {
      state.withLock { $0.starts.append(server.connections.count) }
      let (status, output, _) = try await ChildProcess(
        command(number + life)[0], Array(command(number + life).dropFirst()), errors: .discarded
      ).outcome()
      state.withLock { $0.wasKilled.append(status != 0) }
      if status != 0 { fault("the last life ended with status \(status): \(output)") }
    }
    try checkQueue(number)
    let left = try queue.fillLevel(secret: secret)
    if left != 0 { fault("\(left) messages were never sent") }
  }

  /// Looks at the queue, the record and what the server has: each message waits, or is there.
  func checkQueue(_ number: Int) throws {
    let received = Set(bodies.map(\.bytes))
    for (message, hint) in state.withLock({ $0.hints }) where !received.contains(message) {
      if try !queue.contains(hint) { fault("life \(number): a message is gone, and the server does not have it") }
    }
    _ = try SendingRecord.read(folder: folder)
    let problems = state.withLock { $0.problems }
    if !problems.isEmpty { fault("life \(number): \(problems)") }
  }

  /// What was received, and what of it twice: only the head on its way when the process was killed may be.
  var result: Result {
    let bodies = bodies
    let state = state.withLock { $0 }
    var result = Result(messages: state.written.count, received: bodies.count, faults: state.problems)
    let messages = Set(state.written)
    var seen: Set<[UInt8]> = []
    var last: [UInt8] = []
    var order: [[UInt8]] = []
    var lastLife = -1
    for (request, body) in bodies {
      let life = state.starts.lastIndex { $0 <= request } ?? 0
      if seen.insert(body).inserted {
        if messages.contains(body) { order.append(body) }
      } else if body == last, life > lastLife, state.wasKilled[lastLife] {
        if messages.contains(body) { result.doubledMessages += 1 } else { result.doubledCovers += 1 }
      } else {
        result.faults.append("request \(request) of life \(life) was made before, by none that was killed in it")
      }
      last = body
      lastLife = life
    }
    if order != state.written { result.faults.append("the messages were not sent in their order") }
    return result
  }

  /// The messages that the server has received whole, in order, with the numbers of their requests.
  private var bodies: [(request: Int, bytes: [UInt8])] {
    let connections = server.connections
    return state.withLock { state in
      for (number, request) in connections.enumerated() where state.bodies[number] == nil {
        // A process that was killed has sent less, or nothing.
        guard let start = request.firstIndex(of: UInt8(ascii: "\"")) else { continue }
        state.bodies[number] = (try? MessageBody.decode(Array(request[start...])))?.bytes
      }
      return state.bodies.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
  }

  private func command(_ number: Int) -> [String] {
    // Far enough apart for a run to be permitted whatever happened to the one before.
    let ticks = (0..<3).map { "\(100_000 * (number + 1) + 20_000 * $0)" }
    return [Self.process, folder, "\(server.port)", "none"] + ticks
  }

  private func write(_ count: Int) throws {
    for _ in 0..<count {
      let number = state.withLock { $0.written.count }
      let text = Array("message \(number) ".utf8)
      let bytes = text + [UInt8](repeating: 0, count: SealedMessage.byteCount - text.count)
      guard try queue.fillLevel(secret: secret) < SendingQueue.capacity - 1 else { return }
      let hint = try queue.append(SealedMessage(bytes: bytes), secret: secret)
      state.withLock { state in
        state.written.append(bytes)
        state.hints[bytes] = hint
      }
    }
  }

  private func fault(_ text: String) { state.withLock { $0.problems.append(text) } }
}

/// Random bytes in the place of covers, for a queue that the process does not make.
private struct RandomCovers: CoverSource {
  func cover() throws(MessageSendingError) -> SealedMessage {
    var random = SystemRandomNumberGenerator()
    return try SealedMessage(bytes: (0..<SealedMessage.byteCount).map { _ in .random(in: 0...255, using: &random) })
  }
}
