import AudioIngestTesting
import DeterministicTesting
import Foundation
import SystemTesting
import Testing
import Timing

@testable import AudioIngest

/// What the process that is killed fetches, and where to; set only there.
private struct Order {
  let path: String
  let format: StoredFormat
  /// What the device was told to free by those before it.
  let freed: Int

  static let given: Order? = {
    let words = ProcessInfo.processInfo.environment["EDGEBLUE_FETCH_VICTIM"]?.split(separator: " ", maxSplits: 2) ?? []
    guard words.count == 3, let format = StoredFormat(rawValue: String(words[0])), let freed = Int(words[1]) else {
      return nil
    }
    return Order(path: String(words[2]), format: format, freed: freed)
  }()

  var settings: [String: String] { ["EDGEBLUE_FETCH_VICTIM": "\(format.rawValue) \(freed) \(path)"] }
}

/// Says what a device was told to free, before anything else happens.
private struct TellingStore<Store: FakeStore>: FakeStore {
  var store: Store
  var format: StoredFormat { store.format }
  var status: [UInt8] { store.status }
  var freed: Int { store.freed }

  mutating func take(_ command: [UInt8]) -> [[UInt8]] {
    let before = freed
    defer { if freed != before { Victim.say("freed \(freed)") } }
    return store.take(command)
  }
}

@Suite("A transfer of stored recordings that is killed", .computing) struct KilledFetchTests {
  /// What a device has stored: three seconds, in more than one piece, of which segments are made twice on the way.
  private static let count = 150

  /// Who fetches is killed again and again until all is here: what the device was told to free is here after each kill,
  /// and nothing is here twice. With `EDGEBLUE_KILLS=200` it is killed as often for each kind of store.
  @Test("A transfer killed at any moment neither loses nor duplicates a record", arguments: StoredFormat.allCases)
  func killedAtAnyMomentItLosesAndDoublesNothing(_ format: StoredFormat) throws {
    let kills = Victim.kills(usual: 4)
    var random = SeededGenerator(seed: UInt64(kills))
    let temporary = try TemporaryFolder()
    // How long it takes when nobody kills it.
    let whole = try time(format, temporary.path + "/whole")
    var done = 0
    var store = 0
    while done < kills {
      store += 1
      let path = temporary.path + "/\(store)"
      var freed = 0
      var isComplete = false
      while !isComplete {
        var victim = try Victim("aFetcherToBeKilled", Order(path: path, format: format, freed: freed).settings)
        try victim.wait(for: "begins")
        if done < kills {
          usleep(UInt32.random(in: 0..<whole, using: &random))
          done += 1
        } else {
          try victim.wait(for: "complete")
        }
        freed = victim.kill(last: "freed") ?? freed
        isComplete = victim.said.contains("complete")
        let kept = try check(path, copy: path + "-\(done)")
        #expect(kept >= (isComplete ? Self.count : format == .ring ? freed : freed * Self.count), "kill \(done)")
      }
    }
  }

  /// How long a fetch takes that nobody kills, in microseconds.
  private func time(_ format: StoredFormat, _ path: String) throws -> UInt32 {
    var victim = try Victim("aFetcherToBeKilled", Order(path: path, format: format, freed: 0).settings)
    try victim.wait(for: "begins")
    let start = ContinuousClock.now
    try victim.wait(for: "complete")
    let whole = ContinuousClock.now - start
    _ = victim.kill(last: "freed")
    #expect(try check(path, copy: path + "-copy") == Self.count)
    return UInt32(max(min(whole / .microseconds(1), 60e6), 1))
  }

  /// Looks at what is here, in a copy: the next victim finds it as the last one has left it.
  /// - Returns: how many records became segments, each of them once and in order.
  private func check(_ path: String, copy: String) throws -> Int {
    for entry in try SegmentCatalog(path: path).entries { try entry.segment.verify() }
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    let folder = try SegmentFolder(path: copy, limits: .init(reserve: 0))
    _ = try folder.recover { Issue.record($0) }
    let catalog = try SegmentCatalog(path: copy)
    #expect(catalog.problems.isEmpty)
    #expect(catalog.openCount == 0)
    let samples = try catalog.entries.flatMap { entry in
      try entry.segment.verify()
      return try entry.segment.samples()
    }
    let kept = samples.count / StoredSound.samples
    #expect(samples == StoredSound.samples(0..<kept))
    return kept
  }

  /// The process that is killed: it does what a recorder does when it begins and finds a device, and says how far it is.
  @Test(
    "The process that is killed during a transfer",
    .enabled(if: Order.given != nil, "runs only in a process that is killed"))
  func aFetcherToBeKilled() async throws {
    let order = Order.given!
    let folder = try SegmentFolder(path: order.path, limits: .init(reserve: 0))
    _ = try folder.recover { Issue.record($0) }
    let keeper = StoredKeeper(
      folder, SegmentRules(maximum: .seconds(2)), limit: 60 * order.format.recordLength, openSegment: { nil },
      deliver: { _ in })
    Victim.say("begins")
    let end: TransferEnd
    switch order.format {
    case .ring:
      var ring = TellingStore(
        store: FakeRing(records: (0..<Self.count).map { StoredSound.record($0) }, read: order.freed))
      end = try await fetch(&ring, by: keeper)
    case .file:
      let blocks = order.freed > 0 ? [] : (0..<Self.count).map(StoredSound.block)
      var file = TellingStore(store: FakeFile(blocks: blocks, deletions: order.freed))
      end = try await fetch(&file, by: keeper)
    }
    if end == .complete { Victim.say("complete") }
    // Until it is killed; or nobody hears it any more, which ends it.
    while true {
      Victim.say("idle")
      try await Task.sleep(for: .milliseconds(50), clock: .steady)
    }
  }
}
