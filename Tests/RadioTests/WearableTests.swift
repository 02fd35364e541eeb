import AudioIngest
import BlueZ
import DBus
import DBusTesting
import Foundation
import Testing

/// A wearable on a stack nobody here wrote, which speaks, and has every fault of a radio and a firmware.
extension RadioTests {
  @Suite(.enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct Wearables {
    private static let tools = ["espeak-ng", "sox"].allSatisfy { ChildProcess.path(of: $0) != nil }

    /// 16 bit, one channel, 16 kHz.
    private static func speech() throws -> Data {
      let text = "The recorder was worn all day, and nothing that was said was lost or made up. "
      let command = "espeak-ng --stdout '\(text)' | sox -t wav - -t raw -r 16000 -e signed -b 16 -c 1 -"
      let process = try ChildProcess("sh", ["-c", command], errors: .discarded)
      var sound = Data()
      while case let bytes = read(process.output), !bytes.isEmpty { sound += bytes }
      try #require(process.wait() == 0 && sound.count > 3 * 32_000)
      return sound
    }

    @Test(.enabled(if: tools, "needs espeak-ng and sox"), .timeLimit(.minutes(3)))
    func whatAWearableHearsBecomesSegments() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try Self.speech().write(to: URL(filePath: folder + "/speech"))
      // Frames of 160 bytes, and numbers that soon begin at 0 again.
      let peer = try LabPeer(
        "wearable_peer.py", ["--timeout", "170", "--sound", folder + "/speech", "--bits", "64000", "--number", "65450"])
      defer { peer.terminate() }
      let adapter = try await peer.adapter()
      _ = try await peer.next("advertising")

      let out = try SegmentFolder(path: folder + "/out", limits: .init(reserve: 0))
      let recorder = WearableRecorder(OmiWearable(), at: adapter, into: out)
      let events = recorder.events(limit: 4096)
      let running = Task { try await recorder.run() }
      try await stream(events)
      let clock = try #require(try await peer.next("clock")["seconds"] as? Int)
      #expect(abs(clock - Int(Date.now.timeIntervalSince1970)) < 10)

      // Two seconds as they should be, over the end of the numbers; then one fault after the other.
      try await hear(100, by: recorder)
      for fault in ["double", "swap", "lose 4", "pieces 100"] {
        try peer.type(fault)
        try await hear(35, by: recorder)
      }
      let before = try #require(await recorder.status().live)
      #expect(before.codec == .opus20ms && before.counters.frames > 150)
      try peer.type("vanish")
      let first = try await peer.next("ended")
      try await stream(events)
      try peer.type("codec 99")
      try await hear(100, by: recorder)
      try peer.type("vanish")
      let second = try await peer.next("ended")
      // Nobody knows this codec: what comes is kept as it is.
      try await stream(events)
      @Sendable func raw() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder + "/out").filter { $0.hasSuffix(".raw") }
      }
      try await until("30 raw frames") {
        guard let name = try raw().first else { return false }
        return try String(contentsOfFile: folder + "/out/" + name, encoding: .utf8).split(separator: "\n").count > 30
      }
      #expect(try raw().count == 1)
      running.cancel()
      try await running.value

      let catalog = try SegmentCatalog(path: folder + "/out")
      #expect(catalog.problems.isEmpty && catalog.openCount == 0)
      let segments = catalog.entries.map(\.segment)
      try #require(segments.count == 2)
      let counters = before.counters
      #expect(counters.duplicates == 1 && counters.reordered == 1 && counters.lostFrames == 4)
      #expect(segments[0].info.gaps.first?.samples == 1280 && segments[0].info.closedBy == .linkLoss)
      #expect(segments[1].info.previous?.closedBy == .linkLoss)
      try compare(segments[0], with: first)
      try compare(segments[1], with: second)

      // What was not delivered is offered when a recorder begins.
      let (numbers, source) = BoundedStream.make(of: Int.self, limit: 8)
      let later = WearableRecorder(OmiWearable(), at: adapter, into: out, sink: Taker(numbers: source))
      let offering = Task { try await later.run() }
      var offered = numbers.makeAsyncIterator()
      #expect(await [offered.next(), offered.next()] == segments.map(\.info.id))
      offering.cancel()
      try await offering.value
    }

    private struct Taker: SegmentSink {
      let numbers: BoundedStream<Int>.Source
      func take(_ segment: FinishedSegment) async throws { numbers.yield(segment.info.id) }
    }

    /// Waits until audio comes.
    private func stream(_ events: BoundedStream<WearableRecorder.Event>) async throws {
      try await bounded(.seconds(60), "a stream") {
        for await event in events {
          if case .problem(let text) = event { print("recorder:", text) }
          if event == .state(.streaming) { return }
        }
        throw TestTimeout(phase: "the recorder ended")
      }
    }

    /// Waits for so many more frames: a busy machine takes its time.
    private func hear(_ count: Int, by recorder: WearableRecorder) async throws {
      let before = await recorder.status().live?.counters.frames ?? 0
      try await until("\(count) frames") { await recorder.status().live?.counters.frames ?? 0 >= before + count }
    }

    private func until(_ what: String, _ isSo: @escaping @Sendable () async throws -> Bool) async throws {
      try await bounded(.seconds(60), what) {
        while try await !isSo() { try await Task.sleep(for: .milliseconds(50), clock: .steady) }
      }
    }

    /// Up to the first gap a segment is what libopus hears in the frames that were sent, to the bit; behind it, once the
    /// decoder has found its way again, nearly so.
    private func compare(_ segment: FinishedSegment, with link: [String: any Sendable]) throws {
      try segment.verify()
      let heard = try Data(contentsOf: URL(filePath: try #require(link["heard"] as? String)))
      let reference = heard.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
      let samples = try segment.samples()
      // The link went in the middle of a frame: its first piece may have arrived, and then it is a gap at the end.
      let frames = try #require(link["frames"] as? Int)
      #expect((0...1).contains(frames - samples.count / 320))
      #expect(segment.info.gaps.count { $0.end == samples.count } == samples.count / 320 + 1 - frames)
      let exact = min(segment.info.gaps.first?.start ?? .max, samples.count, reference.count)
      #expect(exact > 16_000 && samples[..<exact] == reference[..<exact])
      guard let gap = segment.info.gaps.first(where: { $0.end < samples.count }) else { return }
      let end = segment.info.gaps.last { $0.end == samples.count }?.start ?? samples.count
      let rest = (gap.end + 8000)..<min(end, reference.count)
      func power(_ value: (Int) -> Int) -> Int { rest.reduce(0) { $0 + value($1) * value($1) } }
      let (noise, sound) = (power { Int(samples[$0]) - Int(reference[$0]) }, power { Int(reference[$0]) })
      // 20 dB below what is heard.
      #expect(rest.count > 8000 && noise * 100 < sound, "\(noise) of \(sound)")
    }
  }
}
