import AudioIngest
import Foundation
import Uploads

/// The names under which the segments of a folder are uploaded, and the requests for it.
struct SegmentRequests: Sendable {
  let source: UploadSource
  /// The format and the sample rate of the audio.
  var delivery = AudioDelivery()

  /// The metadata key of a segment's number.
  static let number = "segment"
  /// The metadata key of the checksum of the WAV file that audio in another form was made of.
  static let recorded = "wav-sha256"
  /// The metadata key of the sample rate of the audio, in Hz.
  static let sampleRate = "sample-rate"

  /// Returns the requests for the sidecar and the audio of a segment, in this order. Audio in another form than that of
  /// the segment is made first, if it was not.
  func requests(for segment: FinishedSegment) throws -> [UploadRequest] {
    let sidecar = String(segment.path.dropLast(4)) + ".json"
    let recorded = segment.info.measured.sha256
    let delivery = try possible(for: segment)
    let path = segment.path(as: delivery)
    let isCopy = path != segment.path
    var audio = try request(
      segment, path, delivery.format.fileExtension, contentType: delivery.format.mediaType,
      sha256: isCopy ? nil : recorded)
    if isCopy { audio.content.metadata[Self.recorded] = recorded }
    audio.content.metadata[Self.sampleRate] = "\(delivery.sampleRate ?? segment.info.sampleRate)"
    return [try request(segment, sidecar, "json", contentType: "application/json"), audio]
  }

  /// Makes the audio file to upload, and returns its form; without room for one in the wanted form, that of the WAV file,
  /// because uploading is what frees space.
  private func possible(for segment: FinishedSegment) throws -> AudioDelivery {
    do throws(AudioIngestError) {
      _ = try segment.file(as: delivery)
      return delivery
    } catch {
      guard error.code == .noSpace else { throw error }
      return AudioDelivery()
    }
  }

  /// Returns the request for the transcript of a segment; `nil` if there is none.
  func transcript(of segment: FinishedSegment) throws -> UploadRequest? {
    let path = segment.transcriptPath
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    return try request(segment, path, "txt", contentType: MediaType.of(path))
  }

  /// Returns the key of the sidecar of a segment.
  func sidecarKey(of segment: FinishedSegment) -> String { key(of: segment, "json") }

  /// Returns the keys that the audio of a segment may have: one for each format.
  func audioKeys(of segment: FinishedSegment) -> [String] {
    AudioFileFormat.allCases.map { key(of: segment, $0.fileExtension) }
  }

  /// Returns the form of an item's audio; `nil` for a sidecar or a transcript.
  static func delivery(of item: UploadItem) -> AudioDelivery? {
    guard let format = item.request.key.split(separator: ".").last.flatMap({ AudioFileFormat(rawValue: String($0)) })
    else { return nil }
    // A copy of another sample rate has it in its name.
    return AudioDelivery(
      format, sampleRate: item.request.content.path.split(separator: ".").suffix(2).first.flatMap { Int($0) })
  }

  /// Returns the absolute path of a file or folder, without a slash at its end.
  static func absolute(_ path: String) -> String {
    let absolute = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    return absolute.count > 1 && absolute.hasSuffix("/") ? String(absolute.dropLast()) : absolute
  }

  /// Returns a key as long as those of segments are.
  static func longestKey(_ prefix: String, _ account: String) -> String {
    "\(prefix)\(account)/00-00-00-00-00-00/2000-01-01/20000101T000000.000Z-000000000000.flac"
  }

  private func key(of segment: FinishedSegment, _ end: String) -> String {
    "\(source.prefix)\(source.account)/\(device(segment))/\(segment.info.capture.localDate)/\(segment.info.name).\(end)"
  }

  private func device(_ segment: FinishedSegment) -> String {
    segment.info.device.address.replacing(":", with: "-").lowercased()
  }

  private func request(
    _ segment: FinishedSegment, _ path: String, _ end: String, contentType: String, sha256: String? = nil
  ) throws -> UploadRequest {
    let info = segment.info
    var content = try ObjectContent(readingOwn: Self.absolute(path), contentType: contentType)
    guard sha256 == nil || sha256 == content.sha256 else {
      throw UploadsError(.fileChanged, "\(path) was changed after the recording")
    }
    content.metadata = [
      Self.number: "\(info.id)", "captured-at": info.capture.iso8601, "local-date": info.capture.localDate,
      "time-zone": info.capture.timeZone, "utc-offset": "\(info.capture.utcOffset)", "device": info.device.address,
      "duration": "\(info.duration)", "missing-samples": "\(info.missingSamples)",
    ]
    content.metadata.merge(SpeechMetadata(info).fields) { $1 }
    var request = UploadRequest(
      content, bucket: source.bucket, key: key(of: segment, end), account: source.account)
    request.endpoint = source.endpoint
    // A name that a reader can construct without listing, with its parts named as engines that read partitions expect.
    request.manifest =
      "\(source.prefix)\(source.account)/manifests/device=\(device(segment))/date=\(info.capture.localDate)/manifest.ndjson"
    return request
  }
}
