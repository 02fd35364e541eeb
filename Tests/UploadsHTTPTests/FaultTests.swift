import Foundation
import Streams
import Testing
import Timing
import Uploads
import UploadsTesting

@Suite(
  "Faults between the queue and a real server",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"), .timeLimit(.minutes(5)))
struct FaultTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let busy = "<Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>"

  /// Each happens to the first request that is about the object's bytes; then the network is good.
  @Test(
    "After any fault of the network the object is stored once",
    arguments: [
      ("refused", .refused), ("reset", .resetAfter(100_000)), ("lost", .lostReply), ("half", .halfReply),
      ("stall", .stall), ("trickle", .trickle), ("wrong", .wrongChecksum), ("500", .answer(500, "")),
      ("503", .answer(503, busy)), ("403", .answer(403, "<html>no</html>")), ("307", .answer(307, "")),
      ("portal", .answer(200, "<html>Welcome to the hotel</html>")), ("404", .answer(404, "<html>who?</html>")),
      ("timeout", .answer(400, "<Error><Code>RequestTimeout</Code></Error>")),
      ("broken", .answer(400, "<Error><Code>BadDigest</Code></Error>")),
    ] as [(String, FaultProxy.Fault)])
  func oneFault(_ named: (String, FaultProxy.Fault)) async throws { try await oneFault(named, inParts: false) }

  @Test(
    "After any fault of a part the object is stored once",
    arguments: [
      ("refused", .refused), ("reset", .resetAfter(100_000)), ("lost", .lostReply), ("wrong", .wrongChecksum),
      ("gone", .answer(404, "<Error><Code>NoSuchUpload</Code></Error>")),
    ] as [(String, FaultProxy.Fault)])
  func oneFaultOfAPart(_ named: (String, FaultProxy.Fault)) async throws { try await oneFault(named, inParts: true) }

  private func oneFault(_ named: (String, FaultProxy.Fault), inParts: Bool) async throws {
    let server = try await SeaweedFS.running()
    let key = "faults/\(named.0)-\(inParts)"
    let isFirst = Lock(true)
    let proxy = try FaultProxy(before: server.port) { method, target in
      guard method == "PUT", target.contains(key) else { return .none }
      return isFirst.withLock { first in
        defer { first = false }
        return first ? named.1 : .none
      }
    }
    try await upload(key, inParts: inParts, server, proxy)
    #expect(!isFirst.withLock { $0 })
    #expect(proxy.made(key) == 1)
  }

  /// What completes an upload in parts is answered with an error behind a status of 200, not at all, or cut off.
  @Test(
    "After a failed completion the object is stored once",
    arguments: [
      ("error", .answer(200, "<Error><Code>InternalError</Code></Error>")), ("lost", .lostReply), ("half", .halfReply),
    ] as [(String, FaultProxy.Fault)])
  func theLastStepFails(_ named: (String, FaultProxy.Fault)) async throws {
    let server = try await SeaweedFS.running()
    let key = "faults/complete-\(named.0)"
    let isFirst = Lock(true)
    let proxy = try FaultProxy(before: server.port) { method, target in
      guard method == "POST", target.contains("uploadId") else { return .none }
      return isFirst.withLock { first in
        defer { first = false }
        return first ? named.1 : .none
      }
    }
    try await upload(key, inParts: true, server, proxy)
    #expect(!isFirst.withLock { $0 })
    #expect(proxy.made(key) == 1)
  }

  /// A server that knows no conditions.
  @Test("A server without conditional requests stores the object once") func conditionsThatAreNotImplemented()
    async throws
  {
    let server = try await SeaweedFS.running()
    let key = "faults/501"
    let count = Lock(0)
    let proxy = try FaultProxy(before: server.port) { method, _ in
      guard method == "PUT" else { return .none }
      return count.withLock { count in
        count += 1
        return count == 1
          ? .answer(501, "<Error><Code>NotImplemented</Code><Message>If-None-Match</Message></Error>") : .none
      }
    }
    try await upload(key, inParts: false, server, proxy)
    #expect(proxy.made(key) == 1)
  }

  /// The server looks at signatures: what arrives is signed for the region that was told, and nothing is tried again.
  @Test("A bucket in another region is found without a retry", arguments: [301, 307, 400])
  func aBucketIsInAnotherRegion(_ status: Int) async throws {
    let server = try await SeaweedFS.running()
    let key = "faults/region-\(status)"
    let proxy = try FaultProxy(before: server.port) { _, _ in .elsewhere(status, region: "eu-central-1") }
    let item = try await upload(key, inParts: true, server, proxy)
    #expect(item.attempts == 0)
    #expect(proxy.made(key) == 1)
    func isRight(_ seen: FaultProxy.Seen) -> Bool { seen.authorization.contains("/eu-central-1/s3/aws4_request") }
    // It is told once; the look for forgotten uploads may have heard it before.
    #expect(proxy.seen.contains { !isRight($0) })
    // A 400 names the region in its body, which a response to HEAD lacks: the question for the reason hears it.
    let learning = status == 400 ? 2 : 1
    #expect(proxy.seen.filter { $0.target.contains(key) }.dropFirst(learning).allSatisfy(isRight))
  }

  @discardableResult private func upload(
    _ key: String, inParts: Bool, _ server: SeaweedFS, _ proxy: FaultProxy
  ) async throws -> UploadItem {
    var options = UploadQueue.Options()
    // Nobody else changes this queue.
    options.pollInterval = .seconds(1000)
    if inParts { options.plan = UploadPlan(threshold: 1, partLength: 5 << 20) }
    let clock = FastClock()
    let run = try QueueRun(
      folder, server.client(through: proxy.port, stallLimit: .seconds(key.contains("stall") ? 1 : 10)),
      ["a": StaticCredentials(SeaweedFS.writer)], clock: TimeSource(clock), options: options)
    let path = try folder.file("f", inParts ? 5 << 20 + 1000 : 300_000, seed: UInt64(key.utf8.count))
    let ids = try await run.queue.add([
      UploadRequest(
        try ObjectContent(readingFile: path), bucket: SeaweedFS.bucket, key: key, account: "a", afterwards: .remove)
    ])
    let bytes = try Data(contentsOf: URL(filePath: path))
    try await run.untilFinished(ids)
    let item = try #require(try run.store.item(ids[0]))
    #expect(item.state == .done, "\(item.problem ?? "")")
    #expect(try await server.bytes(of: key) == bytes)
    #expect(!FileManager.default.fileExists(atPath: path))
    return item
  }
}
