// Sends from a queue by the schedule in a process of its own, for tests of kills and of what an observer sees.
//
//   message-sender-process FOLDER PORT FAULT SECOND…    a start, a tick at each second of its clock, and a stop
//
// FAULT is one that a sender may have, which tells its observer about the queue; "none" for a sender without.
// A line of JSON with the outcome follows each of them, as `edgeblue messages run --json` prints it.

import Glibc
import MessageSending
import MessageSendingHTTP
import Streams

/// A fault that depends on what the queue holds.
enum Fault: String {
  case none, flushAfterWriting, freshCoverForRetry, longerBody
}

/// The way to the server on this host, with a longer request for a message where that is the fault. Under TLS a longer
/// path and a longer body look the same.
struct FaultyTransport: MessageTransport {
  let usual: HTTPMessageTransport
  let longer: HTTPMessageTransport
  let isLonger: @Sendable () throws -> Bool

  func send(_ message: SealedMessage) async throws {
    try await isLonger() ? longer.send(message) : usual.send(message)
  }
}

func show(_ outcome: String) {
  let bytes = Array("{\"outcome\":\"\(outcome)\"}\n".utf8)
  guard Glibc.write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(74) }
}

func run(_ folder: String, port: String, fault: Fault, seconds: [Int64]) async throws {
  var bytes = Array("secret__secret__".utf8)
  let secret = try SecretBytes(taking: &bytes)
  let nodes = [try BoxSecretKey().publicKey, try BoxSecretKey().publicKey]
  let recipient = RecipientKeys.Recipient(id: "desk", key: try BoxSecretKey().publicKey)
  let keys = try RecipientKeys(nodes: nodes, recipients: [recipient], issuedMs: 0, expiresMs: 250_000_000_000_000)
  let covers = KeyedCovers(keys: keys) { 1 }
  let queue = try SendingQueue.open(path: folder + "/queue", covers: covers) { show("problem: \($0)") }
  let level: @Sendable () throws -> Int = { try queue.fillLevel(secret: secret) }
  let server = "http://127.0.0.1:\(port)"
  let transport = FaultyTransport(
    usual: try HTTPMessageTransport(server), longer: try HTTPMessageTransport(server + "/1")
  ) { try fault == .longerBody && level() > 0 }

  let now = Lock<Int64>(seconds.first ?? 0)
  var options = MessageSender.Options()
  options.clock = SendingClock(wall: { now.withLock { $0 } * 1000 }, random: { 0.5 })
  let source = VaultedQueue(queue, Vault(path: folder + "/vault"))
  let sender = MessageSender(folder: folder, source, covers: covers, transport: transport, options: options)
  if fault == .flushAfterWriting, try level() > 0 {
    let head = try queue.takeHead()
    try await transport.send(head)
    try queue.removeHead(ifEqualTo: head, appending: covers.cover())
  }
  await sender.handle(.started)
  show("started")
  for second in seconds {
    now.withLock { $0 = second }
    let outcome = await sender.handle(.ticked)
    if fault == .freshCoverForRetry, outcome == .failed, try level() == 0 {
      try queue.removeHead(ifEqualTo: queue.head(), appending: covers.cover())
    }
    show(outcome?.rawValue ?? "none")
  }
  await sender.handle(.stopping)
  show("stopped")
}

let words = Array(CommandLine.arguments.dropFirst())
let seconds = words.dropFirst(3).compactMap { Int64($0) }
guard words.count > 3, seconds.count == words.count - 3, let fault = Fault(rawValue: words[2]) else { exit(64) }
do {
  try await run(words[0], port: words[1], fault: fault, seconds: seconds)
} catch {
  show("error: \(error)")
  exit(1)
}
