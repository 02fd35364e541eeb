import AudioIngestTesting
import DurableFiles
import Foundation
import SystemTesting
import Testing
import Timing

@testable import AudioIngest

@Suite("Stored recordings on their way to segments", .computing, .timeLimit(.minutes(10))) struct StoredKeeperTests {
  private let temporary: TemporaryFolder

  // In memory: none of these tests is about a power cut, and there are thousands of syncs.
  init() throws { temporary = try TemporaryFolder(in: access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil) }

  private func folder(_ disk: Disk = Disk()) throws -> SegmentFolder {
    try SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0), disk: disk)
  }

  private func keeper(_ folder: SegmentFolder, _ heard: SegmentInfo? = nil, limit: Int = 100) -> StoredKeeper {
    StoredKeeper(
      folder, SegmentRules(maximum: .seconds(2)), limit: limit * 444, openSegment: { heard }, deliver: { _ in })
  }

  /// What all stored segments hold, in the order of their time.
  /// - Returns: the blocks that they are, as far as each block is whole and the next one follows.
  private func blocks(_ folder: SegmentFolder) throws -> Range<Int>? {
    let samples = try samples(folder)
    let count = samples.count / StoredSound.samples
    return samples == StoredSound.samples(0..<count) ? 0..<count : nil
  }

  private func samples(_ folder: SegmentFolder) throws -> [Int16] {
    let catalog = try SegmentCatalog(path: folder.path)
    try #require(catalog.problems.isEmpty)
    try #require(catalog.openCount == 0)
    return try catalog.entries.flatMap { entry in
      try entry.segment.verify()
      try #require(entry.segment.info.backfill != nil)
      return try entry.segment.samples()
    }
  }

  @Test("Stored audio becomes segments with its capture time") func whatWasStoredBecomesSegmentsOfItsTime() async throws
  {
    let folder = try folder()
    var before = SegmentInfo(
      id: 7, capturedAtMs: Recording.start + 60_000, device: Recording.device, codec: .pcm8k, previous: nil)
    before.samples = 8000
    // Two stretches of 3 s, half a minute apart.
    let later = Recording.start + 30_000 - 150 * 20
    var ring = FakeRing(
      records: (0..<150).map { StoredSound.record($0) } + (150..<300).map { StoredSound.record($0, startMs: later) })
    #expect(try await fetch(&ring, by: keeper(folder, before)) == .complete)
    let infos = try SegmentCatalog(path: folder.path).entries.map(\.segment.info)
    #expect(try blocks(folder) == 0..<300)
    #expect(ring.freed == 300)
    #expect(infos.allSatisfy { $0.backfill?.clock == .device })
    #expect(infos.allSatisfy { $0.device == Recording.device })
    #expect(infos.map(\.closedBy).contains(.maximum))
    #expect(infos.last?.closedBy == .storeEnd)
    #expect(abs(infos[0].capture.unixMs - Recording.start) <= 20)
    let second = try #require(infos.first { $0.capture.unixMs > Recording.start + 10_000 })
    #expect(abs(second.capture.unixMs - Recording.start - 30_000) <= 20)
    try noFilesAreLeft(folder)
    // There is nothing more to do.
    #expect(try await fetch(&ring, by: keeper(folder)) == .complete)
    #expect(try samples(folder).count == 48_000)
  }

  @Test("A stored segment names the pause that it fills") func aSegmentSaysWhichPauseItFills() async throws {
    let folder = try folder()
    var recording = try Recording(folder)
    recording.play(frames: 100)
    recording.recorder.end(.linkLoss, at: recording.moment)
    recording.pass(.seconds(10))
    recording.play(frames: 100)
    let heard = try #require(recording.recorder.openSegment)
    var ring = FakeRing(records: (0..<100).map { StoredSound.record($0, startMs: Recording.start + 4000) })
    #expect(try await fetch(&ring, by: keeper(folder, heard)) == .complete)
    let stored = try SegmentCatalog(path: folder.path).entries.map(\.segment.info).filter { $0.backfill != nil }
    let gap = try #require(stored.first?.backfill?.fills.first)
    #expect(gap.segment == heard.id)
    #expect(gap.start == nil)
    #expect(abs(gap.duration - 10) < 0.1)
    withExtendedLifetime(recording) {}
  }

  @Test("The last block of a file ends at the connection") func aFileEndsWhereSomebodyListenedAgain() async throws {
    let folder = try folder()
    var file = FakeFile(blocks: (0..<250).map(StoredSound.block))
    #expect(try await fetch(&file, by: keeper(folder)) == .complete)
    let infos = try SegmentCatalog(path: folder.path).entries.map(\.segment.info)
    #expect(try blocks(folder) == 0..<250)
    #expect(file.deletions == 1)
    #expect(infos[0].backfill?.clock == .estimated)
    // The link began a minute after the start; 5 s were stored before.
    #expect(abs(infos[0].capture.unixMs - Recording.start - 55_000) <= 20)
    try noFilesAreLeft(folder)
  }

  /// What was fetched when a recorder ended becomes segments when the next one begins.
  @Test("Records left by a crash become segments") func whatACrashLeftBecomesSegments() async throws {
    var folder: SegmentFolder? = try folder()
    let keeper = keeper(folder!)
    _ = try await keeper.open(Recording.device, .pcm8k, .ring, linkedAtMs: Recording.start)
    try await keeper.restart(at: 40, ring: 3)
    try await keeper.keep((0..<64).flatMap { StoredSound.record($0) })
    // The last record was being written.
    let name = SegmentPaths.word(Recording.device.address) + ".1.records"
    let file = try FileHandle(forWritingTo: URL(filePath: folder!.path + "/open/" + name))
    try file.seekToEnd()
    try file.write(contentsOf: [1, 2, 3])
    folder = nil
    let copy = try SegmentFolder.unlocked(temporary.path + "/recordings", copyTo: temporary.path + "/copy")
    let segments = try copy.recover { Issue.record($0) }
    #expect(try segments.flatMap { try $0.samples() } == StoredSound.samples(0..<64))
    #expect(try copy.recover { Issue.record($0) }.isEmpty)
    // It goes on behind them.
    let next = try #require(try StoredSpool.existing(Recording.device.address, in: copy)).position
    #expect(next == StoredPosition(next: 104, ring: 3, tail: StoredSound.record(63).fnv1a))
  }

  @Test("A corrupt label of a spool is reported") func aLabelThatSaysNothingIsReported() throws {
    let folder = try folder()
    try Data("nonsense".utf8).write(to: URL(filePath: folder.paths.stored("FA:0B")))
    var problems: [AudioIngestError] = []
    #expect(try folder.recover { problems.append($0) }.isEmpty)
    #expect(problems.map(\.code) == [.damagedFile])
  }

  /// A step on the disk fails once, or all of them from it on until the program begins anew: each record is there once. With
  /// `EDGEBLUE_DISK_STEPS=all` that is so for every step.
  @Test(
    "A fault at any step on the disk neither loses nor duplicates a record", arguments: StoredFormat.allCases,
    [false, true])
  func aFaultAtAnyStepLosesAndDoublesNothing(_ format: StoredFormat, _ lasts: Bool) async throws {
    var steps = 0
    for (step, number) in DiskFaults.plan(every: lasts ? 11 : 5) {
      try? FileManager.default.removeItem(atPath: temporary.path + "/recordings")
      let faults = DiskFaults()
      let reached: Bool
      switch format {
      case .ring:
        var ring = FakeRing(records: (0..<90).map { StoredSound.record($0) })
        reached = try await survive(&ring, faults, step, number, lasts)
        #expect(ring.freed == 90)
      case .file:
        var file = FakeFile(blocks: (0..<90).map(StoredSound.block))
        reached = try await survive(&file, faults, step, number, lasts)
        #expect(file.freed == 1)
      }
      if !reached { break }
      steps = step
    }
    print("a \(format)'s disk failed at up to step \(steps)")
    #expect(steps > 60)
  }

  /// - Returns: whether the step was come to.
  private func survive(
    _ store: inout some FakeStore, _ faults: DiskFaults, _ step: Int, _ number: Int32, _ lasts: Bool
  ) async throws -> Bool {
    var failed = false
    do {
      let folder = try folder(faults.disk)
      let keeper = keeper(folder, limit: 60)
      faults.fail((faults.steps + step)...(lasts ? .max : faults.steps + step), with: number)
      do {
        #expect(try await fetch(&store, by: keeper) == .complete)
      } catch let error as AudioIngestError {
        #expect(error.code == (number == ENOSPC ? .noSpace : .storage))
        #expect(error.errno == number)
        failed = true
      }
      // The next link, in the same program.
      if failed, !lasts { #expect(try await fetch(&store, by: keeper) == .complete) }
    }
    faults.fail(nil, with: 0)
    let folder = try await reopened()
    _ = try folder.recover { Issue.record("step \(step): \($0)") }
    #expect(try await fetch(&store, by: keeper(folder)) == .complete)
    try #require(try blocks(folder) == 0..<90, "step \(step)")
    try noFilesAreLeft(folder)
    return failed
  }

  /// The folder once the objects of the program that ended are gone; an actor's end is not awaited.
  private func reopened() async throws -> SegmentFolder {
    while true {
      do {
        return try folder()
      } catch let error as AudioIngestError where error.code == .busy {
        try await Task.sleep(for: .milliseconds(5), clock: .steady)
      }
    }
  }

  /// Only a label, and an empty file behind it.
  private func noFilesAreLeft(_ folder: SegmentFolder) throws {
    let word = SegmentPaths.word(Recording.device.address)
    let names = try folder.disk.names(in: folder.paths.open).filter { $0.hasPrefix(word) }
    #expect(names.count == 2, "\(names)")
    #expect(names.contains(word + ".stored"), "\(names)")
  }
}

extension SegmentFolder {
  /// What a program left that ended without a word, while its objects here still live.
  fileprivate static func unlocked(_ path: String, copyTo copy: String) throws -> SegmentFolder {
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    return try SegmentFolder(path: copy, limits: .init(reserve: 0))
  }
}
