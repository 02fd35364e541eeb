import AudioIngest
import AudioWearables
import Foundation
import Streams
import Testing
import Timing

/// A wearable on a stack nobody here wrote, which speaks, and has every fault of a radio and a firmware.
extension RadioTests {
  @Suite("Wearables, over the radio", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct Wearables {
    /// Makes a folder with a file `speech`: 16 bit, one channel, 16 kHz.
    private static func folderWithSpeech() throws -> String {
      let folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Speech.sound().write(to: URL(filePath: folder + "/speech"))
      return folder
    }

    @Test(
      "The audio of a wearable becomes segments",
      .enabled(if: Speech.isThere, Speech.needed), .enabled(if: Command.isBuilt, Command.needed),
      .timeLimit(.minutes(5)))
    func whatAWearableHearsBecomesSegments() async throws {
      let folder = try Self.folderWithSpeech()
      defer { try? FileManager.default.removeItem(atPath: folder) }
      // Frames of 160 bytes, and numbers that soon begin at 0 again.
      let peer = try LabPeer(
        "wearable_peer.py",
        [
          "--timeout", "290", "--sound", folder + "/speech", "--bits", "64000", "--number", "65450", "--stored", "3",
        ])
      defer { peer.terminate() }
      let adapter = try await peer.adapterName()
      let storedMs = try #require(try await peer.next("stored")["ms"] as? Int)
      let address = try #require(try await peer.next("advertising")["address"] as? String)

      let begun = Self.nowMs
      let record = try Subprocess(
        Command.path,
        [
          "record", "--json", "--out", folder + "/out", "--adapter", adapter, "--reserve", "0", "--wearable", address,
        ])
      try await streams(record)
      let clock = try #require(try await peer.next("clock")["seconds"] as? Int)
      #expect((begun / 1000...Self.nowMs / 1000).contains(clock))

      // What it stored before comes beside the stream.
      let stored = try await record.line(with: #""backfill":{"clock":"device""#)
      #expect(stored.contains(#""event":"segment""#))

      let first = try await oneFaultAfterTheOther(peer, record)
      try await streams(record)
      let second = try await mutedThenSilent(peer, record)
      try await keepsUnknownCodec(record, in: folder + "/out")
      #expect(try await record.end() == 0)

      let all = try segments(of: folder, links: [first, second], storedAt: storedMs)
      try await offersAgain(all, at: adapter, from: folder + "/out")
    }

    /// Lets the wearable play, over the end of its frame numbers, and then commit one fault after the other.
    /// - Returns: The wearable's account of the link, which ends in the middle of a frame.
    private func oneFaultAfterTheOther(_ peer: LabPeer, _ record: Subprocess) async throws -> [String: any Sendable] {
      try await counted(record) { $0["frames", default: 0] >= 100 }
      try await peer.type("double")
      try await counted(record) { $0["duplicates", default: 0] >= 1 }
      try await peer.type("swap")
      try await counted(record) { $0["reordered", default: 0] >= 1 }
      try await peer.type("lose 4")
      let whole = try await counted(record) { $0["lostFrames", default: 0] >= 4 }
      try await peer.type("pieces 100")
      // Half a second for the decoder to find its way again, and more than half a second to compare.
      try await counted(record) { $0["frames", default: 0] >= whole + 60 }
      try await peer.type("vanish")
      return try await heard(peer)
    }

    /// Mutes the wearable, which still answers, so that the link stays; then lets it stall, which ends the link.
    /// - Returns: The wearable's account of the link.
    private func mutedThenSilent(_ peer: LabPeer, _ record: Subprocess) async throws -> [String: any Sendable] {
      // More of the first link may have come meanwhile.
      let before = try await counted(record) { _ in true }
      try await counted(record) { $0["frames", default: 0] >= before + 150 }
      try await peer.type("mute")
      _ = try await record.line(with: #""event":"state","state":"muted""#)
      try await peer.type("unmute")
      try await streams(record)
      try await peer.type("codec 99")
      try await peer.type("stall")
      _ = try await record.line(with: #""event":"state","state":"waiting""#)
      return try await heard(peer)
    }

    /// Waits until frames of a codec that nobody knows are kept as they came.
    private func keepsUnknownCodec(_ record: Subprocess, in folder: String) async throws {
      try await streams(record)
      @Sendable func raw() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".raw") }
      }
      try await bounded(.seconds(120), "30 raw frames") {
        while true {
          let text = try raw().first.map { try String(contentsOfFile: folder + "/" + $0, encoding: .utf8) }
          if text?.split(separator: "\n").count ?? 0 > 30 { return }
          try await Task.sleep(for: .milliseconds(50), clock: .steady)
        }
      }
      #expect(try raw().count == 1)
    }

    /// Compares the finished segments with the wearable's accounts of its links and its store.
    private func segments(
      of folder: String, links: [[String: any Sendable]], storedAt storedMs: Int
    ) throws -> [FinishedSegment] {
      let catalog = try SegmentCatalog(path: folder + "/out")
      #expect(catalog.problems.isEmpty)
      #expect(catalog.openCount == 0)
      let all = catalog.entries.map(\.segment)
      let segments = all.filter { $0.info.backfill == nil }
      try #require(segments.count == 2)
      try #require(all.count == 3)
      // Its stamps are whole seconds; several records a second tell more.
      try compare(
        stored: all.first { $0.info.backfill != nil }, folder + "/speech.stored", began: storedMs - 500...storedMs + 1)
      #expect(segments[0].info.gaps.first { $0.reason == .lost }?.samples == 1280)
      #expect(segments[0].info.closedBy == .linkLoss)
      #expect(segments[1].info.previous?.closedBy == .linkLoss)
      try compare(segments[0], with: links[0], isCut: true)
      try compare(segments[1], with: links[1], isCut: false)
      return all
    }

    /// Checks that a recorder that begins offers the segments that nobody has taken.
    private func offersAgain(_ all: [FinishedSegment], at adapter: String, from folder: String) async throws {
      let (numbers, source) = BoundedStream.make(of: Int.self, limit: 8)
      let out = try SegmentFolder(path: folder, limits: .init(reserve: 0))
      let later = WearableRecorder(
        OmiWearable(), at: try await Radio.adapter(adapter), into: out, sink: Taker(numbers: source))
      let offering = Task { try await later.run() }
      var offered = numbers.makeAsyncIterator()
      #expect(await [offered.next(), offered.next(), offered.next()] == all.map(\.info.id))
      offering.cancel()
      try await offering.value
    }

    /// Older firmware has one file, without times, which is read to its end and deleted.
    @Test(
      "The stored file of an older wearable becomes a segment",
      .enabled(if: Speech.isThere, Speech.needed), .enabled(if: Command.isBuilt, Command.needed),
      .timeLimit(.minutes(5)))
    func whatAnOlderWearableStoredBecomesASegment() async throws {
      let folder = try Self.folderWithSpeech()
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let peer = try LabPeer(
        "wearable_peer.py",
        ["--timeout", "290", "--sound", folder + "/speech", "--stored", "3", "--stored-as", "file"])
      defer { peer.terminate() }
      let adapter = try await peer.adapterName()
      let address = try #require(try await peer.next("advertising")["address"] as? String)
      let begun = Self.nowMs
      let record = try Subprocess(
        Command.path,
        [
          "record", "--json", "--out", folder + "/out", "--adapter", adapter, "--reserve", "0", "--wearable", address,
        ])
      _ = try await record.line(with: #""backfill":{"clock":"estimated""#)
      let ended = Self.nowMs
      // All of it, and only once it was here.
      #expect(try #require(try await peer.next("freed")["records"] as? Int) > 20)
      #expect(try await record.end() == 0)
      let segments = try SegmentCatalog(path: folder + "/out").entries.map(\.segment)
      // Its last block was stored when the link began, and it lasts three seconds.
      try compare(
        stored: segments.first { $0.info.backfill != nil }, folder + "/speech.stored",
        began: begun - 3000...ended - 3000)
    }

    private struct Taker: SegmentSink {
      let numbers: BoundedStream<Int>.Source
      func take(_ segment: FinishedSegment) async throws { numbers.yield(segment.info.id) }
    }

    /// Waits until audio comes.
    private func streams(_ record: Subprocess) async throws {
      _ = try await record.line(with: #""event":"state","state":"streaming""#)
    }

    /// Waits until the recorder's counters, which it tells every second, are as they should be.
    /// - Returns: how many frames it has counted then.
    @discardableResult
    private func counted(_ record: Subprocess, _ isSo: @escaping @Sendable ([String: Int]) -> Bool) async throws -> Int
    {
      let last = Lock("nothing")
      do {
        return try await bounded(.seconds(120), "the recorder's counters") {
          while true {
            let line = try await record.line(with: #""event":"status""#)
            last.withLock { $0 = line }
            let status = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if let counters = status?["counters"] as? [String: Int], isSo(counters) { return counters["frames"] ?? 0 }
          }
        }
      } catch {
        throw TestTimeout(phase: "\(error); the recorder said last \(last.withLock { $0 })")
      }
    }

    private static var nowMs: Int { Int(Date.now.timeIntervalSince1970 * 1000) }

    /// The next link that ends after something was sent on it; one on which the recorder gave up is none.
    private func heard(_ peer: LabPeer) async throws -> [String: any Sendable] {
      while true {
        let link = try await peer.next("ended")
        if link["frames"] as? Int != 0 { return link }
      }
    }

    /// It is what libopus hears in what was stored, to the bit, and began then, in Unix milliseconds.
    private func compare(stored segment: FinishedSegment?, _ heard: String, began: ClosedRange<Int>) throws {
      let segment = try #require(segment)
      let reference = try Data(contentsOf: URL(filePath: heard)).withUnsafeBytes {
        Array($0.bindMemory(to: Int16.self))
      }
      #expect(try segment.samples() == reference)
      #expect(reference.count == 48_000)
      #expect(segment.info.gaps.isEmpty)
      #expect(began.contains(Int(segment.info.capture.unixMs)))
    }

    /// What was heard, without what the recorder put in because everything came late for seconds: a wearable of plastic
    /// would have dropped as much, while this one waits for the processor of a machine that emulates it, and sends it all.
    /// - Returns: the samples, the gaps that the radio made, and up to where the decoder did nothing but decode.
    private static func withoutDelays(
      _ segment: FinishedSegment
    ) throws -> (samples: [Int16], gaps: [AudioGap], exactEnd: Int) {
      var samples = try segment.samples()
      var gaps: [AudioGap] = []
      var put = 0
      var exactEnd = Int.max
      for var gap in segment.info.gaps {
        gap.start -= put
        if gap.reason != .unsent || gap.concealed > 0 { exactEnd = min(exactEnd, gap.start) }
        if gap.reason == .unsent {
          samples.removeSubrange(gap.start..<gap.end)
          put += gap.samples
        } else {
          gaps.append(gap)
        }
      }
      return (samples, gaps, exactEnd)
    }

    /// Up to the first gap a segment is what libopus hears in the frames that were sent, to the bit; behind it, once the
    /// decoder has found its way again, nearly so.
    /// - Parameter isCut: whether the link went in the middle of a frame.
    private func compare(_ segment: FinishedSegment, with link: [String: any Sendable], isCut: Bool) throws {
      try segment.verify()
      let heard = try Data(contentsOf: URL(filePath: try #require(link["heard"] as? String)))
      let reference = heard.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
      let (samples, gaps, exactEnd) = try Self.withoutDelays(segment)
      // Of a frame that is cut the first piece may have arrived, and then it is a gap at the end.
      let frames = try #require(link["frames"] as? Int)
      #expect((0...(isCut ? 1 : 0)).contains(frames - samples.count / 320))
      #expect(gaps.count { $0.end == samples.count } == samples.count / 320 + (isCut ? 1 : 0) - frames)
      let exact = min(exactEnd, samples.count, reference.count)
      let other = zip(samples, reference).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? exact
      #expect(exact > 16_000, "sample \(other) of \(samples.count); \(segment.info.gaps)")
      #expect(other >= exact, "sample \(other) of \(samples.count); \(segment.info.gaps)")
      guard let gap = gaps.first(where: { $0.end < samples.count }) else { return }
      let end = gaps.last { $0.end == samples.count }?.start ?? samples.count
      let rest = gap.end + 8000..<max(gap.end + 8000, min(end, reference.count))
      try #require(rest.count > 8000, "\(segment.info.gaps) in \(samples.count)")
      func power(_ value: (Int) -> Int) -> Int { rest.reduce(0) { $0 + value($1) * value($1) } }
      let noise = power { Int(samples[$0]) - Int(reference[$0]) }
      let sound = power { Int(reference[$0]) }
      // 20 dB below what is heard.
      #expect(noise * 100 < sound, "\(noise) of \(sound)")
    }
  }
}
