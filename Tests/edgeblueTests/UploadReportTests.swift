import Agent
import Foundation
import JSONValues
import SystemTesting
import Testing

@testable import Uploads
@testable import edgeblue

@Suite("The numbers of the queue") struct UploadReportTests {
  private var report: UploadReport {
    var status = UploadQueue.Status()
    status.counters.uploaded = 3
    status.counters.uploadedBytes = 3000
    status.counters.sentBytes = 4500
    status.counters.attempts = 5
    status.counters.failures = [.network: 1]
    status.credentialProblems = ["ada": "they are\u{1b} being fetched"]
    var report = UploadReport(status)
    report.totals.items = [.waiting: 2, .failed: 1, .done: 3]
    report.totals.bytes = [.waiting: 2 << 20, .failed: 7, .done: 3000]
    report.totals.oldestQueuedAtMs = 1_000_000
    report.atMs = 1_090_500
    return report
  }

  @Test("No account, server or text of a server is in the metrics") func nothingMarkedIsMeasured() {
    var marked = report
    marked.status.credentialProblems = ["MARKED": "MARKED denied"]
    marked.otherServers = ["https://MARKED.example"]
    #expect(marked.agentStatus.problem?.contains("MARKED") == true)
    #expect(!Metric.text(of: marked.metrics).contains("MARKED"))
    marked.status.problem = "MARKED disk"
    #expect(marked.agentStatus.problem == "MARKED disk")
    #expect(!Metric.text(of: marked.metrics).contains("MARKED"))
  }

  @Test("The metrics contain the state of the queue") func theNumbersSayWhatThereIs() {
    let text = Metric.text(of: report.metrics)
    for line in [
      "edgeblue_uploads_items{state=\"waiting\"} 2", "edgeblue_uploads_items{state=\"uploading\"} 0",
      "edgeblue_uploads_bytes{state=\"failed\"} 7", "edgeblue_uploads_oldest_age_seconds 90.5",
      "edgeblue_uploads_attempts_total 5", "edgeblue_uploads_failures_total{kind=\"network\"} 1",
      "edgeblue_uploads_success_ratio 0.75", "edgeblue_uploads_sent_bytes_total 4500",
      "edgeblue_uploads_accounts_without_credentials 1", "edgeblue_uploads_problem 0",
    ] {
      #expect(text.contains("\n\(line)\n"), "\(line)")
    }
    // What is not known is left out.
    #expect(!Metric.text(of: UploadReport(UploadQueue.Status()).metrics).contains("ratio"))
  }

  /// By Prometheus's own reader, which also looks at names and units.
  @Test("promtool accepts the metrics", .enabled(if: ChildProcess.path(of: "promtool") != nil, "needs promtool"))
  func prometheusHasNothingAgainstThem() async throws {
    let tool = try ChildProcess("promtool", ["check", "metrics"], hasInput: true)
    try await tool.write(Metric.text(of: report.metrics))
    tool.input.close()
    let outcome = await tool.outcome()
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output == "", "\(outcome.output)")
  }

  @Test("The status of uploads is printed in lines, and as JSON") func forPeopleAndPrograms() {
    let uploads = report.agentStatus
    var agent = AgentStatus(mode: .off)
    agent.uploads = uploads
    let lines = agent.lines.filter { line in
      ["Uploads", "Retries", "Upload error"].contains { line.hasPrefix($0) }
    }
    #expect(lines.count == 3)
    #expect(lines[0].hasPrefix("Uploads       2 left, 2.0 MiB, oldest from "))
    #expect(lines[0].hasSuffix("; 3 uploaded, 1 failed permanently"))
    #expect(lines[1] == "Retries       network 1×")
    #expect(lines[2] == "Upload error  account ada: they are\u{fffd} being fetched")
    #expect(
      JSONValue.object(uploads.json).line == """
        {"bytesLeft":2097152,"counters":{"attempts":5,"sentBytes":4500,"uploaded":3,"uploadedBytes":3000},\
        "failures":{"network":1},"items":{"done":3,"failed":1,"waiting":2},"oldestAtMs":1000000,"paused":false,\
        "problem":"account ada: they are\\u001b being fetched"}
        """)
    var status = report
    status.status.isUploadedElsewhere = true
    #expect(status.agentStatus.problem == "another program uploads this queue")
    status.status.problem = "the disk is full"
    #expect(status.agentStatus.problem == "the disk is full")
  }

  private func item(_ id: Int64, _ state: UploadItem.State, _ size: Int64) -> UploadItem {
    let content = ObjectContent(path: "/f", size: size, sha256: "")
    let request = UploadRequest(content, bucket: "b", key: "key \(id)", account: "a")
    return UploadItem(id: id, request: request, state: state, attempts: 0, queuedAtMs: 0, parts: [], fingerprint: "")
  }

  @Test("The progress is printed in lines, and as JSON") func howItGetsOn() {
    var now = UploadsNow()
    now.totals.items = [.waiting: 2, .uploading: 2, .done: 9, .failed: 1]
    now.totals.bytes = [.waiting: 6 << 20, .uploading: 4 << 20, .done: 100, .failed: 1]
    now.running = [item(3, .uploading, 3 << 20), item(4, .uploading, 1 << 20)]
    now.sent = [3: 2 << 20]
    #expect(
      UploadText.live(now, notes: ["the queue is paused"]) == [
        "4 items, 8.0 MiB; 1 failed", "  66 %   key 3", "  0 %    key 4", "  the queue is paused",
      ])
    now.bytesPerSecond = 1_048_576
    #expect(UploadText.live(now)[0] == "4 items, 8.0 MiB; 1.0 MiB/s, 8 s left; 1 failed")
    now.uploader = QueueUploader(processID: 12)
    #expect(
      JSONValue.object(now.json).line == """
        {"bytesLeft":8388608,"bytesPerSecond":1048576,"failed":1,"running":[{"id":3,"key":"key 3","sent":2097152,\
        "size":3145728},{"id":4,"key":"key 4","sent":0,"size":1048576}],"secondsLeft":8,"toGo":4,"uploader":12}
        """)
    // More than fit below each other.
    now.running = (0..<100).map { item($0, .uploading, 1) }
    let lines = UploadText.live(now)
    #expect(lines.count < LiveScreen.height)
    #expect(lines.last?.hasPrefix("  and ") == true)
  }

  /// What was under way when its program ended is not.
  @Test("An item whose uploading program has ended is waiting") func whatNobodyUploadsWaits() {
    let begun = item(1, .uploading, 1)
    #expect(begun.as(seenWith: nil).state == .waiting)
    #expect(begun.as(seenWith: QueueUploader()).state == .waiting)
    #expect(begun.as(seenWith: QueueUploader(running: [1: 0])).state == .uploading)
    #expect(item(2, .failed, 1).as(seenWith: nil).state == .failed)
  }
}
