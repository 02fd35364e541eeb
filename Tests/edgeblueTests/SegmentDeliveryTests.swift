import AudioIngestTesting
import Foundation
import Streams
import Testing

@testable import AudioIngest
@testable import Uploads
@testable import edgeblue

/// What a recorder delivers of its segments, in each format.
@Suite(.timeLimit(.minutes(5))) struct SegmentDeliveryTests {
  private let temporary: TemporaryFolder
  private let folder: SegmentFolder
  private let segment: FinishedSegment
  private let source: UploadSource

  init() throws {
    temporary = try TemporaryFolder()
    folder = try SegmentFolder(path: temporary.path + "/recordings", limits: .init(quota: 100_000, reserve: 0))
    segment = try Self.record(in: folder)
    source = UploadSource(folder: folder.path, endpoint: "http://host", bucket: "bucket", prefix: "", account: "ada")
  }

  /// Records a segment of 2 s.
  private static func record(in folder: SegmentFolder) throws -> FinishedSegment {
    var recording = try Recording(folder)
    recording.play(frames: 200)
    recording.recorder.end(.shutdown, at: recording.moment)
    return try #require(try SegmentCatalog(path: folder.path).entries.last?.segment)
  }

  @Test(
    "Audio is delivered in the format that was chosen, beside the WAV file", arguments: [AudioFileFormat.flac, .opus])
  func theFormatIsChosen(_ format: AudioFileFormat) throws {
    let requests = try SegmentRequests(source: source, delivery: AudioDelivery(format)).requests(for: segment)
    #expect(requests.map { $0.key.hasSuffix(".json") } == [true, false])
    let content = requests[1].content
    #expect(requests[1].key.hasSuffix("\(segment.info.name).\(format.fileExtension)"))
    #expect(content.contentType == format.mediaType)
    #expect(content.metadata["wav-sha256"] == segment.info.measured.sha256)
    #expect(content.path == SegmentRequests.absolute(segment.path(as: AudioDelivery(format))))
    #expect(content.size < 64_044)
    let again = try SegmentRequests(source: source, delivery: AudioDelivery(format)).requests(for: segment)
    #expect(again[1].content.sha256 == content.sha256)
    try segment.verify()
    #expect(try SegmentCatalog(path: folder.path).problems.isEmpty)
  }

  @Test("The format belongs to the folder, for every program that delivers its segments")
  func theFolderKnowsTheFormat() throws {
    #expect(try SegmentCatalog(path: folder.path).delivery() == AudioDelivery())
    try folder.deliver(as: AudioDelivery(.flac))
    #expect(try SegmentCatalog(path: folder.path).delivery() == AudioDelivery(.flac))
    try folder.deliver(as: AudioDelivery(.wav, sampleRate: 16_000))
    #expect(try SegmentCatalog(path: folder.path).delivery() == AudioDelivery(.wav, sampleRate: 16_000))
    #expect(throws: AudioIngestError.self) { try folder.deliver(as: AudioDelivery(sampleRate: 7999)) }
    for record in ["wav ", "wav 7999", "wav 16000 1", "wav x", "mp3", ""] {
      try Data(record.utf8).write(to: URL(filePath: folder.path + "/open/delivery"))
      #expect(throws: AudioIngestError.self, "\(record)") { try SegmentCatalog(path: folder.path).delivery() }
    }
  }

  @Test(
    "Audio is delivered at the sample rate that was chosen, in every format, and the segment stays as it is",
    arguments: AudioFileFormat.allCases)
  func theRateIsChosen(_ format: AudioFileFormat) throws {
    // The segment's own rate makes no copy of the audio.
    let same = AudioDelivery(format, sampleRate: 16_000)
    #expect(segment.path(as: same) == segment.path(as: AudioDelivery(format)))
    let delivery = AudioDelivery(format, sampleRate: 24_000)
    let request = try SegmentRequests(source: source, delivery: delivery).requests(for: segment)[1]
    #expect(request.key.hasSuffix("\(segment.info.name).\(format.fileExtension)"))
    #expect(request.content.metadata["sample-rate"] == "24000")
    #expect(request.content.metadata["wav-sha256"] == segment.info.measured.sha256)
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try store.add([request])
    let item = try #require(try store.items(in: [.waiting]).first)
    #expect(SegmentRequests.delivery(of: item) == delivery)
    #expect(try SegmentCatalog(path: folder.path).problems.isEmpty)
    try segment.verify()
    guard format == .wav else { return }
    let header = try #require(WAVHeader(Array(try Data(contentsOf: URL(filePath: request.content.path)).prefix(44))))
    #expect(header.sampleRate == 24_000)
    #expect(header.samples == segment.info.samples * 3 / 2)
  }

  @Test("Several tasks make and queue the same copy at the same time, as the sink and the command of one recorder do")
  func copiesAreMadeAtTheSameTime() async throws {
    let delivery = AudioDelivery(.wav, sampleRate: 8000)
    let paths = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 {
        group.addTask { [segment, source] in
          // Refuses a file that is replaced while it is read.
          try SegmentRequests(source: source, delivery: delivery).requests(for: segment)[1].content.path
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(paths == [segment.path(as: delivery)])
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "open" }
    #expect(Set(names.map { String($0.split(separator: ".").last ?? "") }) == ["json", "wav", "wave"])
    #expect(names.count == 3)
  }

  @Test("A delivered copy of another sample rate lets its segment go, once its transcript is delivered, too")
  func copiesOfAnotherRateAreReleased() async throws {
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try Data("Grüße".utf8).write(to: URL(filePath: segment.transcriptPath))
    let sink = SegmentUploads(
      store: store, folder: folder,
      requests: SegmentRequests(source: source, delivery: AudioDelivery(.flac, sampleRate: 8000)))
    try await sink.take(segment)
    try sink.takeTranscript(of: segment)
    let items = try store.items(in: [.waiting])
    #expect(items.map { $0.request.key.split(separator: ".").last } == ["json", "flac", "txt"])
    for item in items {
      #expect(try SegmentCatalog(path: folder.path).entries[0].isDelivered == false)
      _ = try store.begin(item.id)
      _ = try store.finish(item.id, as: .delivered, at: "http://host")
      try await sink.release(item)
    }
    #expect(try SegmentCatalog(path: folder.path).entries[0].isDelivered)
  }

  @Test("A segment that was queued in one format is not queued in another one")
  func noSegmentIsQueuedTwice() async throws {
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try store.remember(source)
    try store.add(try SegmentRequests(source: source).requests(for: segment))
    try folder.deliver(as: AudioDelivery(.flac))
    #expect(await SegmentSources(store).queueFinished() == [])
    let sink = SegmentUploads(
      store: store, folder: folder, requests: SegmentRequests(source: source, delivery: AudioDelivery(.flac)))
    try await sink.take(segment)
    #expect(try store.items(in: [.waiting]).map { $0.request.key.suffix(4) } == ["json", ".wav"])
  }

  @Test("A WAV file whose sidecar is damaged is named, and the others are queued")
  func damagedSidecarsAreNamed() async throws {
    let other = try Self.record(in: folder)
    try Data("{".utf8).write(to: URL(filePath: other.path.dropLast(4) + ".json"))
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try store.remember(source)
    let problem = "not queued: \(other.path) has no sidecar that describes it"
    let sources = SegmentSources(store)
    #expect(await sources.queueFinished() == [problem])
    #expect(try store.items(in: [.waiting]).map { $0.request.key.suffix(4) } == ["json", ".wav"])
    // Also when the folder has not changed since.
    #expect(await sources.queueFinished() == [problem])
  }

  @Test("A folder that is gone is named, and no longer when it is back; each time once")
  func aFolderComesAndGoes() async throws {
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try store.remember(source)
    let sources = SegmentSources(store)
    let told = Lock<[String]>([])
    func look() async { await sources.run(isRepeated: false) { problem in told.withLock { $0.append(problem) } } }
    await look()
    let problem = "the folder of recordings \(folder.path) is gone; `edgeblue uploads forget \(folder.path)` forgets it"
    for times in 1...2 {
      // Moved away and back, it is as old as before.
      try FileManager.default.moveItem(atPath: folder.path, toPath: temporary.path + "/elsewhere")
      for _ in 0..<2 {
        await look()
        #expect(await sources.problems == [problem])
      }
      try FileManager.default.moveItem(atPath: temporary.path + "/elsewhere", toPath: folder.path)
      await look()
      #expect(await sources.problems == [])
      #expect(told.withLock { $0 } == Array(repeating: problem, count: times))
    }
  }

  @Test("A file whose name is not UTF-8 among the segments is named, and the others are queued")
  func oddNamesAreNamed() async throws {
    let bytes = Array("\(folder.path)/caf".utf8) + [0xe9] + Array(".wav".utf8) + [0]
    let file = bytes.withUnsafeBytes { open($0.bindMemory(to: CChar.self).baseAddress!, O_CREAT | O_WRONLY, 0o600) }
    try #require(file >= 0)
    close(file)
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try store.remember(source)
    let problem = "not queued: \(folder.path)/caf\u{fffd}.wav has no sidecar that describes it"
    #expect(await SegmentSources(store).queueFinished() == [problem])
    #expect(try store.items(in: [.waiting]).map { $0.request.key.suffix(4) } == ["json", ".wav"])
  }

  @Test("A folder is the same with and without a slash at its end", arguments: ["", "/", "//", "/.", "/x/.."])
  func slashes(end: String) {
    #expect(SegmentRequests.absolute(folder.path + end) == SegmentRequests.absolute(folder.path))
    #expect(SegmentRequests.absolute("/") == "/")
  }

  @Test("A transcript is queued, once, also long after its segment was delivered")
  func transcriptsAreQueued() async throws {
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try store.remember(source)
    #expect(await SegmentSources(store).queueFinished() == [])
    try folder.markDelivered(segment.info.id)
    try Data("Grüße".utf8).write(to: URL(filePath: segment.transcriptPath))
    #expect(await SegmentSources(store).queueFinished() == [])
    #expect(await SegmentSources(store).queueFinished() == [])
    let items = try store.items(in: [.waiting])
    #expect(items.map { $0.request.key.suffix(4) } == ["json", ".wav", ".txt"])
    #expect(items[2].request.content.path == SegmentRequests.absolute(segment.transcriptPath))
    #expect(items[2].request.content.contentType == "text/plain; charset=utf-8")
    let entry = try SegmentCatalog(path: folder.path).entries[0]
    #expect(entry.lines().contains("Transcript \(segment.transcriptPath)"))
    #expect(entry.segment.json["transcript"] == .string(segment.transcriptPath))
  }

  @Test("A link in the place of a file of a segment is not uploaded", arguments: ["txt", "json", "wav"])
  func linksAreNotUploaded(end: String) async throws {
    let path = segment.path.dropLast(3) + end
    let other = temporary.path + "/other"
    if FileManager.default.fileExists(atPath: String(path)) {
      try FileManager.default.moveItem(atPath: String(path), toPath: other)
    } else {
      try Data("of another user".utf8).write(to: URL(filePath: other))
    }
    try FileManager.default.createSymbolicLink(atPath: String(path), withDestinationPath: other)
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    try store.remember(source)
    #expect(await SegmentSources(store).queueFinished() != [])
    #expect(try store.items(in: [.waiting]).filter { $0.request.content.path.hasSuffix(end) }.isEmpty)
  }

  @Test("Both objects of a segment have its speech in their metadata") func objectsHaveTheSpeech() throws {
    var spoken = segment
    spoken.info.speech = [.init(start: 8320, samples: 41_280)]
    for request in try SegmentRequests(source: source).requests(for: spoken) {
      #expect(request.content.metadata["speech"] == "0.52-3.10")
      #expect(request.content.metadata["speech-seconds"] == "2.58")
      #expect(request.content.metadata["speech-stretches"] == "1")
    }
  }

  @Test("What is removed for space is removed with its copies, and what a killed program left of one goes")
  func copiesGoWithTheirSegment() throws {
    _ = try segment.file(as: AudioDelivery(.flac))
    _ = try segment.file(as: AudioDelivery(.wav, sampleRate: 8000))
    let left = "\(folder.path)/.\(segment.info.name).8000.wave.99"
    try Data("half".utf8).write(to: URL(filePath: left))
    _ = try folder.recover()
    #expect(!FileManager.default.fileExists(atPath: left))
    try folder.markDelivered(segment.info.id)
    try Data(count: 60_000).write(to: URL(filePath: folder.path + "/filler"))
    try folder.makeRoom()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["filler", "open"])
  }

  @Test("What a killed command left of a transcript goes at the next start, and what a running one writes stays")
  func draftsAreRemovedOnce() throws {
    let left = "\(folder.path)/.\(segment.info.name).99.txt"
    try Data("half".utf8).write(to: URL(filePath: left))
    try FileManager.default.createDirectory(atPath: left + ".99.txt", withIntermediateDirectories: false)
    _ = try folder.recover()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(".") } == [])
    let draft = TranscriptDraft(of: segment).path
    try Data("half".utf8).write(to: URL(filePath: draft))
    // A recorder does that again after a full disk.
    _ = try folder.recover()
    #expect(FileManager.default.fileExists(atPath: draft))
  }

  @Test("Metadata has the speech of a segment, and never more than a server takes")
  func metadataHasTheSpeech() throws {
    var info = segment.info
    info.speech = [.init(start: 8320, samples: 41_280), .init(start: 112_000, samples: 36_160)]
    #expect(
      SpeechMetadata(info).fields == [
        "speech": "0.52-3.10,7.00-9.26", "speech-seconds": "4.84", "speech-stretches": "2",
      ])
    info.speech = (0..<5000).map { .init(start: $0 * 1600, samples: 800) }
    let fields = SpeechMetadata(info).fields
    #expect(fields["speech-stretches"] == "5000")
    #expect(fields["speech"]?.hasPrefix("0.00-0.05,0.10-0.15,") == true)
    #expect((fields["speech"]?.utf8.count ?? 0) <= SpeechMetadata.limit)
    info.speech = []
    #expect(SpeechMetadata(info).fields == ["speech-seconds": "0.00", "speech-stretches": "0"])
  }
}
