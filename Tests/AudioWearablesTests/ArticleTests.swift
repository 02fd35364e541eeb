import AudioIngestTesting
import SystemTesting
import Testing
import Timing

@testable import AudioIngest
@testable import AudioWearables

@Suite(
  "The code of the library's articles", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .timeLimit(.minutes(5)))
struct ArticleTests {
  struct Mailbox: SegmentSink {
    let folder: SegmentFolder

    func take(_ segment: FinishedSegment) async throws {
      print("segment", segment.info.id, "of", segment.info.duration, "s is in", segment.path)
      try folder.markDelivered(segment.info.id)
    }
  }

  @Test("The code of the articles records a wearable and delivers its segments")
  func aWearableIsRecordedAndItsSegmentsAreTakenOver() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    let adapter = lab.adapters[1]
    let temporary = try TemporaryFolder()

    let folder = try SegmentFolder(path: temporary.path + "/recordings")
    for segment in try folder.recover(report: { print($0) }) { print("recovered", segment.path) }

    let rules = SegmentRules(maximum: .seconds(60))
    let mailbox = Mailbox(folder: folder)
    let recorder = WearableRecorder(
      OmiWearable(), at: adapter, into: folder, settings: .init(rules: rules), sink: mailbox)
    let events = recorder.events()
    let printing = Task {
      for await event in events {
        if case .problem(let text) = event { print(text) }
      }
    }
    let running = Task { try await recorder.run() }

    try await wearable.waitForSubscriber()
    try await wearable.send((0..<50).map { Recording.bytes(Recording.ramp(($0 * 160)..<(($0 + 1) * 160))) })
    try await recorder.waitForNotifications(50)
    // A lost link ends the segment.
    await lab.fake.adapters[1].loseConnections()
    while try SegmentCatalog(path: folder.path).entries.first?.isDelivered != true {
      try await Task.sleep(for: .milliseconds(10), clock: .steady)
    }

    running.cancel()
    try await running.value
    await printing.value

    try check(SegmentCatalog(path: temporary.path + "/recordings"))
    try await lab.stop()
  }

  private func check(_ catalog: SegmentCatalog) throws {
    // On a slow machine they may have come late, and that is accounted for.
    #expect(catalog.entries.map { $0.segment.info.samples - $0.segment.info.missingSamples } == [8000])
    for entry in catalog.entries {
      try entry.segment.verify()
      let samples = try entry.segment.samples()
      print(samples.count, "samples,", entry.segment.info.gaps.count, "gaps")
    }
  }
}
