import DeterministicTesting
import Testing
import Timing

@testable import Uploads

@Suite("The requests that uploads share") struct UploadProgressTests {
  private let clock = ManualClock()

  /// The progress of items that are being sent.
  private func progress(_ items: ClosedRange<Int64>, requests: Int) -> UploadProgress {
    let progress = UploadProgress(TimeSource(clock), requests: requests)
    for id in items {
      progress.begin(id, Task {})
      progress.beginSending(id, after: 0)
    }
    return progress
  }

  private func send(_ progress: UploadProgress, _ bytes: Int64, seconds: Int) {
    for second in 0...seconds {
      progress.update(1, Int64(second) * bytes)
      clock.advance(by: .seconds(1))
    }
  }

  @Test("A large item sends as many parts as other items leave requests for") func partsTakeWhatIsLeft() {
    let progress = progress(1...2, requests: 4)
    progress.wait(1, parts: 9)
    #expect((0..<4).map { _ in progress.beginPart(1) } == [true, true, true, false])
    progress.end(2)
    #expect(progress.beginPart(1))
    progress.endPart(1)
    #expect(progress.beginPart(1))
    #expect(!progress.beginPart(1))
  }

  @Test("The first part of an item needs no free request") func theFirstPartIsSent() {
    let progress = progress(1...3, requests: 1)
    progress.wait(2, parts: 2)
    #expect(progress.beginPart(2))
    #expect(!progress.beginPart(2))
    progress.endPart(2)
    #expect(progress.beginPart(2))
    progress.endPart(2)
    #expect(!progress.beginPart(2))
  }

  @Test("Over a slow line with a long latency parts come before further items") func partsComeFirst() {
    let progress = progress(1...4, requests: 4)
    #expect(progress.items == 4)
    progress.wait(1, parts: 3)
    #expect(progress.beginPart(1))
    #expect(!progress.beginPart(1))
    progress.add(roundTrip: .seconds(2))
    send(progress, 64 << 10, seconds: 12)
    // Eight requests: three for the parts of the first item, and five for others.
    #expect(progress.items == 6)
    #expect((0..<3).map { _ in progress.beginPart(1) } == [true, true, false])
    progress.end(1)
    clock.advance(by: .seconds(1))
    progress.update(2, 128 << 10)
    #expect(progress.items == 8)
    progress.forgetLine()
    #expect(progress.items == 4)
  }

  @Test("The parts of an item keep their requests from further items before they are sent") func partsKeepRequests() {
    let progress = UploadProgress(TimeSource(clock), requests: 4)
    progress.begin(1, Task {})
    progress.beginSending(1, after: 0, parts: 4)
    progress.add(roundTrip: .seconds(2))
    #expect(progress.items == 5)
    progress.wait(1, parts: 2)
    progress.add(roundTrip: .seconds(2))
    #expect(progress.items == 7)
  }
}
