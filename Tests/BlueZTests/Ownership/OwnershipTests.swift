import Glibc
import Testing

/// Random lives of programs, after which bluetoothd must have exactly what is still declared.
@Suite("Ownership", .timeLimit(.minutes(30)))
struct OwnershipTests {
  /// `EDGEBLUE_SEEDS="17 17"` plays one again, `"1 1000"` many. By default it is a few, and one in which a channel is
  /// given up while the kernel connects for it.
  private static var seeds: [UInt64] {
    let text = getenv("EDGEBLUE_SEEDS").map { String(cString: $0) } ?? ""
    let ends = text.split(separator: " ").compactMap { UInt64($0) }
    guard ends.count == 2, ends[0] <= ends[1] else { return Array(1...6) + [883] }
    return Array(ends[0]...ends[1])
  }

  @Test("After any interleaving bluetoothd has what is declared, and after the end nothing is left")
  func interleavings() async throws {
    for seed in Self.seeds {
      let life = try await ProgramLife(seed: seed)
      try await life.live()
      let difference = await life.difference()
      #expect(difference == nil, "seed \(seed)")
      let remains = try await life.end()
      #expect(remains == nil, "seed \(seed)")
    }
  }
}
