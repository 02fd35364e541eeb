import AudioIngest
import Foundation
import Uploads

/// The names under which the segments of a folder are uploaded, and the requests for it.
struct SegmentRequests: Sendable {
  let source: UploadSource

  /// The metadata key of a segment's number.
  static let number = "segment"

  /// Returns the requests for the sidecar and the WAV file of a segment, in this order.
  func requests(for segment: FinishedSegment) throws -> [UploadRequest] {
    let sidecar = String(segment.path.dropLast(4)) + ".json"
    return [
      try request(segment, sidecar, contentType: "application/json"),
      try request(segment, segment.path, contentType: "audio/wav", sha256: segment.info.measured.sha256),
    ]
  }

  /// Returns the keys of the sidecar and the WAV file of a segment, in this order.
  func keys(of segment: FinishedSegment) -> [String] { ["json", "wav"].map { key(of: segment, $0) } }

  /// Returns the absolute path of a file or folder.
  static func absolute(_ path: String) -> String {
    URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
  }

  private func key(of segment: FinishedSegment, _ end: String) -> String {
    "\(source.prefix)\(source.account)/\(device(segment))/\(segment.info.capture.localDate)/\(segment.info.name).\(end)"
  }

  private func device(_ segment: FinishedSegment) -> String {
    segment.info.device.address.replacing(":", with: "-").lowercased()
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
    let end = path.split(separator: ".").last.map(String.init) ?? "wav"
    var request = UploadRequest(
      content, bucket: source.bucket, key: key(of: segment, end), account: source.account)
    request.endpoint = source.endpoint
    // A name that a reader can construct without listing, with its parts named as engines that read partitions expect.
    request.manifest =
      "\(source.prefix)\(source.account)/manifests/device=\(device(segment))/date=\(info.capture.localDate)/manifest.ndjson"
    return request
  }
}
