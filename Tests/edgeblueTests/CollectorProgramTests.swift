import AsyncHTTPClient
import Foundation
import MessageSending
import MessageSendingHTTP
import NIOCore
import SystemTesting
import Testing
import Uploads

@testable import edgeblue

/// `edgeblue messages collect` as it was built.
@Suite(
  "The command that collects messages",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct CollectorProgramTests {
  private let commands: MessagesCommands

  init() throws { commands = try MessagesCommands(program) }

  private func message(_ byte: UInt8) throws -> SealedMessage {
    try SealedMessage(bytes: [UInt8](repeating: byte, count: SealedMessage.byteCount))
  }

  private func get(_ url: String) async throws -> (status: UInt, body: String) {
    let answer = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
    return (answer.status.code, String(buffer: try await answer.body.collect(upTo: 1 << 20)))
  }

  private func end(_ collector: ChildProcess) async {
    collector.signal(SIGTERM)
    let outcome = await collector.outcome()
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  @Test("The metrics count what was stored, refused and limited, and contain nothing of it")
  func metrics() async throws {
    let collector = try commands.collect(["--rate", "1", "--metrics-port", "0", "--log-level", "trace"], errors: .kept)
    defer { collector.kill() }
    let ports = try await collector.ports(in: "listening", "metrics")
    let address = "http://127.0.0.1:\(ports[0])"
    let transport = try HTTPMessageTransport(address)
    try await transport.send(try message(0x55))
    #expect(try await get(address + "/MARKED?MARKED").status == 404)
    let error = await #expect(throws: MessageSendingError.self) { try await transport.send(try message(0x55)) }
    #expect(error?.message.contains("429") == true)

    let text = try await get("http://127.0.0.1:\(ports[1])/metrics").body
    for (result, count) in [("stored", 1), ("refused", 1), ("limited", 1), ("failed", 0)] {
      #expect(text.contains("edgeblue_messages_collected_total{result=\"\(result)\"} \(count)\n"), "\(text)")
    }
    for address in ["127.0.0.1", "localhost", commands.folder] { #expect(!text.contains(address), "\(text)") }
    let body = String(decoding: MessageBody.encode(try message(0x55)), as: UTF8.self)
    collector.signal(SIGTERM)
    let outcome = await collector.outcome()
    for said in [text, outcome.output, outcome.errors] {
      for secret in ["MARKED", String(body.dropFirst(100).prefix(20))] {
        #expect(!said.contains(secret), "\(secret) is in \(said)")
      }
    }
    try commands.remove()
  }

  @Test("Finished segments are in the upload queue, each once, whatever ended the collector")
  func segmentsAreQueued() async throws {
    let state = commands.folder + "/uploads"
    let options = ["--bucket", "bucket", "--account", "ada", "--state", state]
    let collected = commands.folder + "/collected"
    func queued() throws -> [UploadItem] { try QueueStore(in: state).items(in: [.waiting]) }
    for (round, signal) in [(1, SIGTERM), (2, SIGKILL), (3, SIGTERM), (4, SIGTERM)] {
      let collector = try commands.collect(options)
      defer { collector.kill() }
      let port = try await collector.ports(in: "listening")[0]
      // The fourth has nothing to add.
      if round < 4 { try await HTTPMessageTransport("http://127.0.0.1:\(port)").send(try message(UInt8(round))) }
      guard signal == SIGTERM else {
        collector.kill()
        continue
      }
      await end(collector)
      #expect(try queued().count == MessageSegments.paths(in: collected).count)
    }
    let items = try queued()
    let paths = try MessageSegments.paths(in: collected)
    #expect(items.map(\.request.content.path).sorted() == paths.sorted())
    #expect(items.allSatisfy { $0.request.bucket == "bucket" })
    var messages: [SealedMessage] = []
    for item in items {
      let name = item.request.content.path.split(separator: "/").last ?? ""
      #expect(item.request.key == "messages/" + name)
      try MessageSegments.read(item.request.content.path) { messages.append($0) }
    }
    #expect(messages == [try message(1), try message(2), try message(3)])
    try commands.remove()
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
