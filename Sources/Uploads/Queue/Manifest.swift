internal import FoundationEssentials

/// What a manifest says of an object that it lists: one line of JSON for each object, so that programs that analyse them
/// (DuckDB, Spark, Athena) read one object of a known name instead of listing a bucket.
public struct ManifestEntry: Sendable, Hashable, Codable {
  /// The bucket that holds the object.
  public var bucket: String
  /// The object's key.
  public var key: String
  /// Its length in bytes.
  public var size: Int64
  /// Its SHA-256, in hexadecimal.
  public var sha256: String
  /// Its media type.
  public var contentType: String
  /// In whose name it was uploaded.
  public var account: String
  /// When the server was known to have it: UTC, as ISO 8601.
  public var uploadedAt: String
  /// Its metadata.
  public var metadata: [String: String]

  enum CodingKeys: String, CodingKey {
    case bucket, key, size, sha256, account, metadata
    // As columns are usually named.
    case contentType = "content_type"
    case uploadedAt = "uploaded_at"
  }

  init(_ request: UploadRequest, atMs: Int64) {
    (bucket, key, account) = (request.bucket, request.key, request.account)
    (size, sha256) = (request.content.size, request.content.sha256)
    (contentType, metadata) = (request.content.contentType, request.content.metadata)
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    // It cuts off what is below a millisecond, and a number of seconds is seldom exact.
    uploadedAt = style.format(Date(timeIntervalSince1970: (Double(atMs) + 0.5) / 1000))
  }
}

/// The lines of a manifest: one for each object, in the order of their keys.
///
/// It only ever grows: what another program has written there stays, also what this one does not understand.
struct Manifest: Hashable {
  /// More than this is not read, and not written: some 40,000 objects.
  static let sizeLimit: Int64 = 16 << 20
  static let contentType = "application/x-ndjson"

  private var lines: [String: String] = [:]
  /// Lines that name no object.
  private var others: [String] = []

  /// Reads what a server has.
  init(_ data: Data = Data()) {
    for line in data.split(separator: UInt8(ascii: "\n")) { add(String(decoding: line, as: UTF8.self)) }
  }

  /// Adds a line; it takes the place of another one about the same object.
  mutating func add(_ line: String) {
    do {
      lines[try JSONDecoder().decode(Name.self, from: Data(line.utf8)).key] = line
    } catch {
      // Somebody else's; it is not for us to say what it is worth.
      if !others.contains(line) { others.append(line) }
    }
  }

  /// The bytes of the object.
  var data: Data {
    let all = others.sorted() + lines.sorted { $0.key < $1.key }.map(\.value)
    return Data(all.joined(separator: "\n").utf8) + (all.isEmpty ? "" : "\n").utf8
  }

  private struct Name: Decodable {
    let key: String
  }
}
