import AudioIngest
import Foundation
import Uploads

/// Queues what a recorder has finished, and tells its folder what the server has.
struct SegmentUploads: SegmentSink {
  let store: QueueStore
  let folder: SegmentFolder
  let bucket: String
  let prefix: String
  let account: String

  /// The name of the metadata with a segment's number.
  private static let number = "segment"

  /// Queues a segment's sidecar and its WAV file. A segment that is queued, or was uploaded, is not queued again.
  func take(_ segment: FinishedSegment) async throws {
    let sidecar = String(segment.path.dropLast(4)) + ".json"
    let ids = try store.add([
      try request(segment, sidecar, contentType: "application/json"),
      try request(segment, segment.path, contentType: "audio/wav", sha256: segment.info.sha256),
    ])
    // Uploaded by a program that ended before it could say so, or by another one.
    if let item = try store.item(ids[1]), item.state == .done { try await note(item) }
  }

  /// Lets a segment's files go, when room is needed, once the server has both of them.
  /// - Returns: the segment's number, when it has.
  @discardableResult
  func note(_ item: UploadItem) async throws -> Int? {
    guard let id = item.request.content.metadata[Self.number].flatMap({ Int($0) }),
      item.request.content.path.hasPrefix(Self.absolute(folder.path) + "/")
    else { return nil }
    let key = item.request.key
    let sibling = key.hasSuffix(".wav") ? key.dropLast(4) + ".json" : key.dropLast(5) + ".wav"
    let other = try store.item(bucket: item.request.bucket, key: String(sibling))
    guard let other, [.delivered, .done].contains(other.state) else { return nil }
    try letGo(id)
    return id
  }

  private func letGo(_ id: Int) throws(AudioIngestError) {
    do {
      try folder.markDelivered(id)
    } catch let error where error.code == .noSuchSegment {
      // Removed meanwhile: there is nothing left to let go.
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
      throw UploadsError(.fileChanged, "\(path) is not what was recorded")
    }
    content.metadata = [
      Self.number: "\(info.id)", "captured-at": info.capturedAt, "local-date": info.localDate,
      "time-zone": info.timeZone, "utc-offset": "\(info.utcOffset)", "device": info.device,
      "duration": "\(info.duration)", "missing-samples": "\(info.missingSamples)",
    ]
    let device = info.device.replacing(":", with: "-").lowercased()
    let end = path.split(separator: ".").last ?? "wav"
    return UploadRequest(
      content, bucket: bucket, key: "\(prefix)\(account)/\(device)/\(info.localDate)/\(info.name).\(end)",
      account: account,
      // Under a name that can be made up without a list, with its parts named as engines that read partitions do.
      manifest: "\(prefix)\(account)/manifests/device=\(device)/date=\(info.localDate)/manifest.ndjson")
  }
}
