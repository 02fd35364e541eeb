import Agent
import DBus
import DBusTesting
import Foundation
import Testing

@testable import Uploads
@testable import edgeblue

/// The queue's numbers, as Prometheus, the bus and a person get them.
@Suite struct UploadReportTests {
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

  @Test func theNumbersSayWhatThereIs() {
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
  @Test(.enabled(if: ChildProcess.path(of: "promtool") != nil, "needs promtool"))
  func prometheusHasNothingAgainstThem() async throws {
    let tool = try ChildProcess("promtool", ["check", "metrics"], hasInput: true)
    try tool.write(Metric.text(of: report.metrics))
    tool.input.close()
    let outcome = await tool.outcome()
    #expect(outcome.status == 0 && outcome.output == "", "\(outcome.output)")
  }

  @Test func forPeopleAndPrograms() {
    let uploads = report.agentStatus
    let lines = AgentStatus(mode: .off, uploads: uploads).lines.filter { line in
      ["Uploads", "Tried again", "No upload"].contains { line.hasPrefix($0) }
    }
    #expect(lines.count == 3)
    #expect(lines[0].hasPrefix("Uploads       2 to go, 2.0 MiB, the oldest since "))
    #expect(lines[0].hasSuffix("; 3 uploaded, 1 failed for good"))
    #expect(lines[1] == "Tried again   network 1×")
    #expect(lines[2] == "No upload     the account ada has no credentials: they are\u{fffd} being fetched")
    #expect(
      JSON.object(uploads.json).text == """
        {"bytesLeft":2097152,"counters":{"attempts":5,"sentBytes":4500,"uploaded":3,"uploadedBytes":3000},\
        "failures":{"network":1},"items":{"done":3,"failed":1,"waiting":2},"oldestAtMs":1000000,"paused":false,\
        "problem":"the account ada has no credentials: they are\\u001b being fetched"}
        """)
    var status = report
    status.status.isElsewhere = true
    #expect(status.agentStatus.problem == "another program uploads this queue")
    status.status.problem = "the disk is full"
    #expect(status.agentStatus.problem == "the disk is full")
  }
}
