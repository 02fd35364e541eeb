internal import FoundationEssentials

/// The entry of one object in a manifest.
///
/// A manifest is an object with one line of JSON for each uploaded object. Analysis programs (DuckDB, Spark, Athena) read
/// this one object of a known name instead of listing a bucket.
///
/// ```swift
/// import Foundation
///
/// func totalSize(of manifest: Data) throws -> Int64 {
///   try manifest.split(separator: UInt8(ascii: "\n"))
///     .map { try JSONDecoder().decode(ManifestEntry.self, from: $0).size }
///     .reduce(0, +)
/// }
/// ```
public struct ManifestEntry: Sendable, Hashable, Codable {
  /// The bucket that contains the object.
  public var bucket: String
  /// The key of the object, unique in its bucket.
  public var key: String
  /// The length of the object in bytes.
  public var size: Int64
  /// The SHA-256 of the object, in hexadecimal.
  public var sha256: String
  /// The media type of the object; `content_type` in JSON.
  public var contentType: String
  /// The account that the object was uploaded for.
  public var account: String
  /// The UTC time at which the server had the object, in ISO 8601 with milliseconds; `uploaded_at` in JSON.
  public var uploadedAt: String
  /// The metadata of the object, by lowercase name.
  public var metadata: [String: String]

  enum CodingKeys: String, CodingKey {
    case bucket, key, size, sha256, account, metadata
    // Named as columns usually are.
    case contentType = "content_type"
    case uploadedAt = "uploaded_at"
  }

  init(_ request: UploadRequest, atMs: Int64) {
    bucket = request.bucket
    key = request.key
    account = request.account
    size = request.content.size
    sha256 = request.content.sha256
    contentType = request.content.contentType
    metadata = request.content.metadata
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    // The style truncates to milliseconds, and a number of seconds is seldom exact.
    uploadedAt = style.format(Date(timeIntervalSince1970: (Double(atMs) + 0.5) / 1000))
  }
}

/// The lines of a manifest: one for each object, in the order of their keys.
///
/// It only ever grows: lines of other programs stay, also those that this program does not understand.
struct Manifest: Hashable {
  /// The largest manifest that is read or written, in bytes: some 40,000 objects.
  static let sizeLimit = S3Client.smallObjectLimit
  static let contentType = "application/x-ndjson"

  private var lines: [String: String] = [:]
  /// The lines that name no object.
  private var others: [String] = []

  /// Reads the manifest that a server has.
  init(_ data: Data = Data()) {
    for line in data.split(separator: UInt8(ascii: "\n")) { add(String(decoding: line, as: UTF8.self)) }
  }

  /// Adds a line, which replaces another line about the same object.
  mutating func add(_ line: String) {
    do {
      lines[try JSONDecoder().decode(Name.self, from: Data(line.utf8)).key] = line
    } catch {
      // A line of another program.
      if !others.contains(line) { others.append(line) }
    }
  }

  /// The bytes of the manifest's object.
  var data: Data {
    let all = others.sorted() + lines.sorted { $0.key < $1.key }.map(\.value)
    return Data(all.joined(separator: "\n").utf8) + (all.isEmpty ? "" : "\n").utf8
  }

  private struct Name: Decodable {
    let key: String
  }
}
