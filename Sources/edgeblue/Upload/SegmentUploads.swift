import AudioIngest
import Foundation
import Timing
import Uploads

/// Queues the finished segments of a recorder, and applies the disk policy of the recorder's folder to both: uploaded
/// segments may be removed when the quota or the reserve requires it.
struct SegmentUploads: SegmentSink, DiskPolicy {
  /// The progress of a segment.
  enum News: Sendable {
    /// The server has the segment and its sidecar; the item is that of the audio.
    case uploaded(Int, UploadItem)
    /// The segment could not be queued for lack of disk space, and is retried.
    case waits(Int, UploadsError)
  }

  let store: QueueStore
  let folder: SegmentFolder
  let requests: SegmentRequests
  var clock = TimeSource.continuous
  var told: @Sendable (News) async -> Void = { _ in }

  /// The delay before a segment without disk space is queued again: 10 s.
  static let pause = Duration.seconds(10)

  /// Queues the sidecar and the audio of a segment, once. If the disk is full, the method waits for free space.
  func take(_ segment: FinishedSegment) async throws {
    let source = requests.source
    let known = try requests.audioKeys(of: segment).lazy.compactMap {
      try store.item(at: source.endpoint, bucket: source.bucket, key: $0)
    }.first
    // Uploaded by a program that ended before it could say so, or by another one.
    if let known, known.state == .done { return try await release(known) }
    var wanted = requests
    // Queued by a recorder that delivered another form.
    if let known { wanted.delivery = SegmentRequests.delivery(of: known) ?? requests.delivery }
    let requests = try wanted.requests(for: segment)
    var isTold = false
    while let error = try addUnlessFull(requests) {
      if try await freeSpace() { continue }
      if !isTold { await told(.waits(segment.info.id, error)) }
      isTold = true
      try await clock.sleep(for: Self.pause)
    }
  }

  /// Queues the transcript of a segment, if there is one.
  func takeTranscript(of segment: FinishedSegment) throws {
    if let transcript = try requests.transcript(of: segment) { try store.add([transcript]) }
  }

  /// Queues a segment.
  /// - Returns: The error if the disk is full.
  private func addUnlessFull(_ requests: [UploadRequest]) throws(UploadsError) -> UploadsError? {
    do throws(UploadsError) {
      try store.add(requests)
      return nil
    } catch {
      guard error.code == .noSpace else { throw error }
      return error
    }
  }

  /// Lets a segment's files go, when room is needed, once the server has its sidecar, its audio and, if there is one, its
  /// transcript.
  func release(_ item: UploadItem) async throws {
    guard let id = item.request.content.metadata[SegmentRequests.number].flatMap({ Int($0) }),
      item.request.content.path.hasPrefix(SegmentRequests.absolute(folder.path) + "/")
    else { return }
    let key = item.request.key
    let stem = key[..<(key.lastIndex(of: ".") ?? key.endIndex)]
    func uploaded(_ end: String) throws -> UploadItem? {
      let found = try store.item(at: item.request.endpoint, bucket: item.request.bucket, key: "\(stem).\(end)")
      return found.flatMap { [.delivered, .done].contains($0.state) ? $0 : nil }
    }
    let name = stem.split(separator: "/").last ?? ""
    let transcript = "\(folder.path)/\(name).txt"
    let audio = try AudioFileFormat.allCases.lazy.compactMap { try uploaded($0.fileExtension) }.first
    guard let audio, try uploaded("json") != nil,
      try !FileManager.default.fileExists(atPath: transcript) || uploaded("txt") != nil
    else { return }
    try letGo(id)
    await told(.uploaded(id, audio))
  }

  /// Has the folder remove what was delivered, as far as its quota and its reserve want it.
  func freeSpace() async throws -> Bool {
    let before = try folder.room().free
    do {
      try folder.makeRoom()
    } catch let error where error.code == .noSpace {
      // The other segments are not delivered, and stay.
    }
    return try folder.room().free > before
  }

  private func letGo(_ id: Int) throws(AudioIngestError) {
    do {
      try folder.markDelivered(id)
    } catch let error where error.code == .noSuchSegment {
      // The segment was removed meanwhile.
    }
  }
}
