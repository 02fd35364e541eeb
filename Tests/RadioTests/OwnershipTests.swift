import Foundation
import Testing

/// The list of `OwnershipTests`, which have a fake BlueZ, against the real bluetoothd.
extension RadioTests {
  @Suite("Ownership", .enabled(if: Radio.isLab, Radio.labNeeded)) struct Ownership {
    /// `EDGEBLUE_SEEDS="17 17"` plays one again, `"1 20"` many.
    private static var seeds: ClosedRange<UInt64> {
      let text = ProcessInfo.processInfo.environment["EDGEBLUE_SEEDS"] ?? ""
      let ends = text.split(separator: " ").compactMap { UInt64($0) }
      guard ends.count == 2, ends[0] <= ends[1] else { return 1...1 }
      return ends[0]...ends[1]
    }

    @Test(
      "After any interleaving the real bluetoothd has what is declared, and after the end nothing is left",
      .timeLimit(.minutes(30)))
    func interleavings() async throws {
      // The thread that reads all sockets keeps its own two; a life need not come to that.
      let warm = try await Radio.adapter(Radio.mac)
      _ = try await warm.settings()
      warm.session.close()
      var descriptors = 0
      for seed in Self.seeds {
        let begin = ContinuousClock.now
        let life = try await RadioLife(seed: seed)
        try await life.live(steps: 20)
        let difference = try await life.difference()
        #expect(difference == nil, "seed \(seed)")
        let remains = try await life.finish()
        #expect(remains == nil, "seed \(seed)")
        print("seed \(seed): \(ContinuousClock.now - begin)")
        // The first life opens what stays open.
        var open = try Self.openFiles()
        if descriptors == 0 { descriptors = open.count }
        // An attempt that bluetoothd cannot withdraw has a connection of its own, until the kernel gives up after 41 s.
        for _ in 0..<120 where open.count > descriptors {
          try await Task.sleep(for: .milliseconds(500))
          open = try Self.openFiles()
        }
        #expect(open.count <= descriptors, "seed \(seed): \(open)")
      }
    }

    /// What the descriptors of this process refer to.
    private static func openFiles() throws -> [String] {
      let folder = "/proc/self/fd"
      return try FileManager.default.contentsOfDirectory(atPath: folder).map { number in
        // The descriptor of the listing itself is gone.
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")) ?? number
      }.sorted()
    }
  }
}
