import AudioIngestTesting
import Foundation
import Testing

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path

/// `edgeblue coverage` as it was built, on a recorded walk: a real gpsd, and a network that has a hole.
@Suite(
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .enabled(if: RecordedWalk.hasReceiver, "needs gpsd, and gpsfake of gpsd-clients with python3-gps"),
  .enabled(if: RecordedWalk.isPermitted, "needs ip, nsenter and openssl, and root"), .timeLimit(.minutes(5)))
struct CoverageWalkTests {
  private let temporary: TemporaryFolder

  init() throws { temporary = try TemporaryFolder() }

  @Test("A walk through a hole in the coverage becomes a map with a grey stretch, and is sent once")
  func theHole() async throws {
    let walk = try await RecordedWalk(program, hole: (90, 165), in: temporary.path)
    #expect(walk.inside.count > 5)
    for fence in walk.inside { #expect(fence.answered == 0, "\(fence)") }
    for side in [walk.before, walk.after] {
      #expect(side.count > 5)
      #expect(side.contains { $0.answered > 0 })
      for fence in side { #expect(fence.covered, "\(fence)") }
    }
    #expect(walk.inside.count { !$0.covered } > 5)

    let colours = walk.fences.map { $0.covered ? "2E9E5B" : "A0A0A0" }
    #expect(try walk.coloursOfPicture() == colours)
    #expect(try walk.coloursOfPage() == colours)

    #expect(try walk.reports(ofAttempt: 1) == walk.sessions.map { "\($0.places.count) fences sent" })
    #expect(try walk.reports(ofAttempt: 2) == [])
    #expect(try await walk.received(program) == walk.expected)
  }
}
