import AudioIngest
import Foundation
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
  let bucket: String
  let prefix: String
  let account: String
  var clock = TimeSource.continuous
  var told: @Sendable (News) async -> Void = { _ in }

  /// The metadata key of a segment's number.
  private static let number = "segment"
  /// The delay before a segment without disk space is queued again: 10 s.
  static let pause = Duration.seconds(10)

  /// Queues the sidecar and the WAV file of a segment, once. If the disk is full, the method waits for free space.
  func take(_ segment: FinishedSegment) async throws {
    let sidecar = String(segment.path.dropLast(4)) + ".json"
    let requests = [
      try request(segment, sidecar, contentType: "application/json"),
      try request(segment, segment.path, contentType: "audio/wav", sha256: segment.info.measured.sha256),
    ]
    var isTold = false
    while true {
      do {
        let ids = try store.add(requests)
        // Uploaded by a program that ended before it could say so, or by another one.
        if let item = try store.item(ids[1]), item.state == .done { try await release(item) }
        return
      } catch let error as UploadsError where error.code == .noSpace {
        if try await freeSpace() { continue }
        if !isTold { await told(.waits(segment.info.id, error)) }
        isTold = true
        try await clock.sleep(for: Self.pause)
      }
    }
  }

  /// Lets a segment's files go, when room is needed, once the server has both of them.
  func release(_ item: UploadItem) async throws {
    guard let id = item.request.content.metadata[Self.number].flatMap({ Int($0) }),
      item.request.content.path.hasPrefix(Self.absolute(folder.path) + "/")
    else { return }
    let key = item.request.key
    let sibling = key.hasSuffix(".wav") ? key.dropLast(4) + ".json" : key.dropLast(5) + ".wav"
    let other = try store.item(bucket: item.request.bucket, key: String(sibling))
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

  private static func absolute(_ path: String) -> String {
    URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
  }

  private func request(
    _ segment: FinishedSegment, _ path: String, contentType: String, sha256: String? = nil
  ) throws -> UploadRequest {
    let info = segment.info
    var content = try ObjectContent(readingFile: Self.absolute(path), contentType: contentType)
    guard sha256 == nil || sha256 == content.sha256 else {
      throw UploadsError(.fileChanged, "\(path) was changed after the recording")
    }
    content.metadata = [
      Self.number: "\(info.id)", "captured-at": info.capture.iso8601, "local-date": info.capture.localDate,
      "time-zone": info.capture.timeZone, "utc-offset": "\(info.capture.utcOffset)", "device": info.device.address,
      "duration": "\(info.duration)", "missing-samples": "\(info.missingSamples)",
    ]
    let device = info.device.address.replacing(":", with: "-").lowercased()
    let end = path.split(separator: ".").last ?? "wav"
    var request = UploadRequest(
      content, bucket: bucket, key: "\(prefix)\(account)/\(device)/\(info.capture.localDate)/\(info.name).\(end)",
      account: account)
    // A name that a reader can construct without listing, with its parts named as engines that read partitions expect.
    request.manifest = "\(prefix)\(account)/manifests/device=\(device)/date=\(info.capture.localDate)/manifest.ndjson"
    return request
  }
}
