import Foundation
import Testing
import Timing
import UploadsTesting

@testable import Uploads

@Suite(
  "A store on several hosts, of which one fails",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"), .timeLimit(.minutes(5)))
struct ClusterTests {
  @Test("The death of a storage node loses no object") func aNodeThatDiesMeanwhileCostsNothing() async throws {
    let folder = try TemporaryFolder()
    let cluster = try await SeaweedCluster()
    let client = try cluster.client()
    var options = UploadQueue.Options()
    options.pollInterval = .seconds(1000)
    let run = try QueueRun(
      folder, client, ["a": StaticCredentials(SeaweedFS.writer)], clock: TimeSource(FastClock()), options: options)
    let requests = try (0..<24).map { number in
      let path = try folder.file("\(number)", number == 9 ? 17 << 20 : 1 << 20, seed: UInt64(number))
      return UploadRequest(
        try ObjectContent(readingFile: path), bucket: SeaweedFS.bucket, key: "cluster/\(number)", account: "a")
    }
    let ids = try await run.queue.add(requests)
    let running = run.start()
    try await run.until { try $0.totals().items[.done] ?? 0 >= 6 }
    cluster.killSecond()
    // Now nothing new can be kept twice, and is not taken; what was taken is there.
    while await run.queue.status.counters.failures.isEmpty {
      try await Task.sleep(for: .milliseconds(10), clock: .steady)
    }
    let delivered = try run.store.items(in: [.done])
    #expect((6..<24).contains(delivered.count))
    for item in delivered { try await expectTheSame(item, client) }
    try cluster.startSecond()
    try await run.untilFinished(ids, running)
    #expect(try run.store.totals().items == [.done: 24])
    for item in try run.store.items(in: [.done]) { try await expectTheSame(item, client) }
  }

  private func expectTheSame(_ item: UploadItem, _ client: S3Client) async throws {
    let request = item.request
    let credentials = SeaweedFS.writer
    let bytes = try await client.bytes(
      bucket: request.bucket, key: request.key, limit: 64 << 20, credentials: credentials)
    #expect(try bytes == Data(contentsOf: URL(filePath: request.content.path)), "\(request.key)")
  }
}
