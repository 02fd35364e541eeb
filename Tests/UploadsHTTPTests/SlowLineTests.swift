import Foundation
import Testing
import UploadsTesting

@testable import Uploads

/// A line on which a part takes several times as long as a connection may stand still. `Benchmarks/uploads/slow/run`
/// measures the time on one with loss and latency.
@Suite(
  "A slow line", .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"), .timeLimit(.minutes(5)))
struct SlowLineTests {
  /// Slow enough that fewer requests are sent at a time.
  private static let rate = 160 << 10
  /// A part of 5 MiB takes more than twice as long; the kernel would take half of it at once, and then stand still for
  /// longer. A busy machine may stand still for some seconds, too.
  private static let stallLimit = Duration.seconds(14)

  @Test("Every byte crosses the line once, in parts and in small files") func everyByteCrossesOnce() async throws {
    let server = try await SeaweedFS.running()
    let proxy = try FaultProxy(before: server.port, rate: Self.rate)
    let folder = try TemporaryFolder()
    var options = UploadQueue.Options()
    options.plan = UploadPlan(threshold: 1 << 20, partLength: 5 << 20)
    let run = try QueueRun(
      folder, server.client(through: proxy.port, stallLimit: Self.stallLimit),
      ["a": StaticCredentials(SeaweedFS.writer)], options: options)
    let sizes = [5 << 20 + 100_000] + [Int](repeating: 20_000, count: 5)
    let requests = try sizes.enumerated().map { number, size in
      UploadRequest(
        try ObjectContent(readingFile: try folder.file("\(number)", size, seed: UInt64(number))),
        bucket: SeaweedFS.bucket, key: "slow-line/\(number)", account: "a")
    }
    let ids = try await run.queue.add(requests)
    try await run.untilFinished(ids)
    for (id, request) in zip(ids, requests) {
      let item = try #require(try run.store.item(id))
      #expect(item.state == .done, "\(item.problem ?? "")")
      #expect(item.attempts == 0)
      #expect(try await server.bytes(of: request.key) == Data(contentsOf: URL(filePath: request.content.path)))
    }
    let total = sizes.reduce(0, +)
    // Beside the bodies: the question whether the server keeps conditions, a small object in two ways.
    #expect(proxy.carriedBytes <= total * 11 / 10, "\(proxy.carriedBytes) bytes for \(total)")
  }
}
