import AudioIngest
import Foundation
import Timing
import Uploads

extension AudioIngestError {
  /// The problem of a WAV file without a sound sidecar, which no program can queue.
  var isNotQueued: String { "not queued: \(message)" }
}

/// Queues the finished segments of the folders that recorders have named (`edgeblue record --upload`), and that no
/// recorder has queued: it was killed, or the disk was full.
actor SegmentSources {
  private let store: QueueStore
  /// The time of the last change of each folder when it was last read.
  private var seen: [String: Date] = [:]
  private var told: Set<String> = []
  /// The problems of each folder when it was last read.
  private var folders: [String: [String]] = [:]

  /// The longest time between two looks at the folders; a look comes earlier together with something else.
  static let interval = Duration.seconds(30)

  init(_ store: QueueStore) { self.store = store }

  /// The problems that the folders had when they were last read, for display.
  private(set) var problems: [String] = []

  /// Queues what is finished and not queued, once or until the task is cancelled.
  /// - Parameter tell: A closure that receives each problem once, and again if it returns, for display.
  func run(isRepeated: Bool = true, tell: @escaping @Sendable (String) async -> Void = { _ in }) async {
    repeat {
      let found = queueFinished()
      told.formIntersection(found)
      for problem in found where told.insert(problem).inserted { await tell(problem) }
      guard isRepeated else { return }
      do { try await SteadyClock().rest(atMost: Self.interval) } catch { return }
    } while true
  }

  /// Queues what is finished and not queued.
  /// - Returns: The problems for display; what they concern is tried again the next time.
  func queueFinished() -> [String] {
    do {
      let sources = try store.sources()
      folders = folders.filter { folder, _ in sources.contains { $0.folder == folder } }
      for source in sources {
        if let found = queueFinished(of: source) { folders[source.folder] = found }
      }
      problems = sources.flatMap { folders[$0.folder] ?? [] }
    } catch {
      problems = ["the folders of recordings are unknown: \(Failure(error).message)"]
    }
    return problems
  }

  /// Queues what is finished and not queued.
  /// - Parameter isWanted: Returns `true` for the items to return.
  /// - Returns: The items of recordings that are not uploaded yet.
  func waiting(where isWanted: (UploadRequest) -> Bool) throws -> [Int64] {
    // ``run(isRepeated:tell:)`` tells the problems.
    _ = queueFinished()
    let folders = try store.sources().map { $0.folder + "/" }
    return try store.items(in: [.waiting, .uploading]).filter { item in
      isWanted(item.request) && folders.contains { item.request.content.path.hasPrefix($0) }
    }.map(\.id)
  }

  /// - Returns: The problems; `nil` if nothing has changed in the folder.
  private func queueFinished(of source: UploadSource) -> [String]? {
    do {
      var catalog = try SegmentCatalog(path: source.folder)
      if catalog.openCount > 0, try recover(source.folder) { catalog = try SegmentCatalog(path: source.folder) }
      let changed = try FileManager.default.attributesOfItem(atPath: source.folder)[.modificationDate] as? Date
      guard changed == nil || seen[source.folder] != changed else { return nil }
      let requests = SegmentRequests(source: source, delivery: try catalog.delivery())
      // A transcript may be written long after its segment was delivered.
      let problems =
        catalog.problems.map(\.isNotQueued)
        + catalog.entries.filter { !$0.isDelivered }.compactMap { queue($0.segment, requests) }
        + catalog.entries.compactMap { queueTranscript(of: $0.segment, requests) }
      seen[source.folder] = problems.isEmpty ? changed : nil
      return problems
    } catch {
      // Once the folder can be read again, it is, although it may not have changed meanwhile.
      seen[source.folder] = nil
      let isGone = (error as? AudioIngestError)?.errno == ENOENT
      return [
        isGone && !FileManager.default.fileExists(atPath: source.folder)
          ? "the folder of recordings \(source.folder) is gone; `edgeblue uploads forget \(source.folder)` forgets it"
          : "recordings are not queued: \(Failure(error).message)"
      ]
    }
  }

  /// Finishes the segments that a killed recorder has left open.
  /// - Returns: `false` if a recorder has locked the folder, which will finish them itself.
  private func recover(_ path: String) throws(AudioIngestError) -> Bool {
    guard let folder = try locked(path) else { return false }
    _ = try folder.recover()
    withExtendedLifetime(folder) {}
    return true
  }

  private func locked(_ path: String) throws(AudioIngestError) -> SegmentFolder? {
    do throws(AudioIngestError) {
      return try SegmentFolder(path: path)
    } catch {
      guard error.code == .busy else { throw error }
      return nil
    }
  }

  private func queueTranscript(of segment: FinishedSegment, _ requests: SegmentRequests) -> String? {
    do {
      guard let transcript = try requests.transcript(of: segment) else { return nil }
      let isKnown = try store.knows(
        at: requests.source.endpoint, bucket: requests.source.bucket, key: transcript.key)
      if !isKnown { try store.add([transcript]) }
      return nil
    } catch {
      return "the transcript of segment \(segment.info.id) in \(requests.source.folder) is not queued: "
        + Failure(error).message
    }
  }

  private func queue(_ segment: FinishedSegment, _ requests: SegmentRequests) -> String? {
    let source = requests.source
    func isKnown(_ key: String) throws -> Bool {
      try store.knows(at: source.endpoint, bucket: source.bucket, key: key)
    }
    do {
      let areKnown =
        try isKnown(requests.sidecarKey(of: segment)) && requests.audioKeys(of: segment).contains { try isKnown($0) }
      if !areKnown { try store.add(try requests.requests(for: segment)) }
      return nil
    } catch {
      return "segment \(segment.info.id) in \(source.folder) is not queued: \(Failure(error).message)"
    }
  }
}
