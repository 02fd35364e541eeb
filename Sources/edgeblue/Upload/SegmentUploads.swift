import AudioIngest
import Timing
import Uploads

/// Queues the finished segments of a recorder, and applies the disk policy of the recorder's folder to both: uploaded
/// segments may be removed when the quota or the reserve requires it.
struct SegmentUploads: SegmentSink, DiskPolicy {
  /// The progress of a segment.
  enum News: Sendable {
    /// The server has the segment and its sidecar; the item is the one that was uploaded last.
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

  /// Queues the sidecar and the WAV file of a segment, once. If the disk is full, the method waits for free space.
  func take(_ segment: FinishedSegment) async throws {
    let source = requests.source
    let wav = try store.item(at: source.endpoint, bucket: source.bucket, key: requests.keys(of: segment)[1])
    // Uploaded by a program that ended before it could say so, or by another one.
    if let wav, wav.state == .done { return try await release(wav) }
    let requests = try requests.requests(for: segment)
    var isTold = false
    while let error = try addUnlessFull(requests) {
      if try await freeSpace() { continue }
      if !isTold { await told(.waits(segment.info.id, error)) }
      isTold = true
      try await clock.sleep(for: Self.pause)
    }
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

  /// Lets a segment's files go, when room is needed, once the server has both of them.
  func release(_ item: UploadItem) async throws {
    guard let id = item.request.content.metadata[SegmentRequests.number].flatMap({ Int($0) }),
      item.request.content.path.hasPrefix(SegmentRequests.absolute(folder.path) + "/")
    else { return }
    let key = item.request.key
    let sibling = key.hasSuffix(".wav") ? key.dropLast(4) + ".json" : key.dropLast(5) + ".wav"
    let other = try store.item(at: item.request.endpoint, bucket: item.request.bucket, key: String(sibling))
    guard let other, [.delivered, .done].contains(other.state) else { return }
    try letGo(id)
    await told(.uploaded(id, item))
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
