import Foundation
import SystemTesting
import Testing

/// A recorder with a real object store, ended in every way: what was heard is in the bucket after the next run of
/// anything, sample for sample.
///
/// The wearable sends faster than audio plays, so that minutes take seconds.
@Suite(
  "Every sample that was heard is in the bucket", .serialized,
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"),
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(10)))
struct HeardAndUploadedTests {
  /// `EDGEBLUE_PAIRS=all` tries each length with each end and each successor; without it each of them comes once.
  private static let isLong = ProcessInfo.processInfo.environment["EDGEBLUE_PAIRS"] == "all"
  private static let lengths = [15, 60, 240]

  private static let stops: [(signal: Int32, seconds: Int)] =
    isLong
    ? lengths.flatMap { [(SIGTERM, $0), (SIGINT, $0)] } : [(SIGTERM, 15), (SIGINT, 60), (SIGTERM, 240)]

  private static let kills: [(seconds: Int, successor: Successor)] =
    isLong
    ? lengths.flatMap { seconds in Successor.allCases.map { (seconds, $0) } }
    : [(15, .uploads), (15, .recorder), (60, .upload), (240, .agent)]

  @Test("A recorder that is told to stop leaves everything to the next run of uploads", arguments: stops)
  func itIsToldToStop(_ signal: Int32, _ seconds: Int) async throws {
    let session = try await RecorderSession()
    try await session.record(seconds: seconds)
    try await session.end(by: signal)
    try await session.runUploads()
    try await session.expectEverything(seconds: seconds)
    try await session.stop()
  }

  @Test(
    "What a recorder that was told to stop has queued is uploaded by whoever comes next", arguments: Successor.allCases)
  func itIsToldToStopBefore(_ successor: Successor) async throws {
    let session = try await RecorderSession()
    try await session.record(seconds: 15)
    try await session.end(by: SIGTERM)
    try await session.run(successor)
    try await session.expectEverything(seconds: 15)
    try await session.stop()
  }

  @Test("What a killed recorder has heard is uploaded by whoever comes next", arguments: kills)
  func itIsKilled(_ seconds: Int, _ successor: Successor) async throws {
    let session = try await RecorderSession()
    try await session.record(seconds: seconds)
    try await session.end(by: SIGKILL)
    try await session.run(successor)
    try await session.expectEverything(seconds: seconds)
    try await session.stop()
  }

  @Test("Recordings of another account keep no program waiting, and stay for the next one")
  func othersDoNotWait() async throws {
    let session = try await RecorderSession()
    try await session.record(seconds: 15)
    try await session.end(by: SIGKILL)
    try await session.uploadAnotherFile(of: "eve")
    try await session.runUploads()
    try await session.expectEverything(seconds: 15)
    try await session.stop()
  }

  @Test(
    "What was heard before a link was lost is uploaded while the recorder waits",
    arguments: isLong ? lengths : [15, 240])
  func theLinkIsLost(_ seconds: Int) async throws {
    let session = try await RecorderSession()
    try await session.record(seconds: seconds)
    try await session.loseLink()
    try await session.expectEverything(seconds: seconds)
    try await session.end(by: SIGTERM)
    try await session.stop()
  }

  @Test("What is delivered as FLAC has the samples that were heard") func flacHasEverySample() async throws {
    let session = try await RecorderSession(format: .flac)
    try await session.record(seconds: 15)
    try await session.end(by: SIGKILL)
    try await session.runUploads()
    try await session.expectEverything(seconds: 15)
    try await session.stop()
  }
}
