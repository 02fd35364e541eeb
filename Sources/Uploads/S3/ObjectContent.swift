internal import Crypto
package import FoundationEssentials

/// The content of an object: a local file with its checksum, media type and metadata.
///
/// ```swift
/// let content = try ObjectContent(
///   readingFile: "/srv/audio/talk.wav", contentType: "audio/wav", metadata: ["device": "Zoë's"])
/// print(content.size, content.sha256)
/// ```
public struct ObjectContent: Sendable, Hashable {
  /// The absolute path of the file.
  public var path: String
  /// The length of the file in bytes, 0 to 5 TiB.
  public var size: Int64
  /// The SHA-256 of the file, in hexadecimal.
  public var sha256: String
  /// The media type of the object, in ASCII.
  public var contentType: String
  /// The metadata of the object besides the checksum, by lowercase name.
  ///
  /// Names consist of letters, digits and hyphens; everything together has at most 2 KB.
  public var metadata: [String: String]
  /// The checksums of the file's parts; `nil` if they are unknown or the file is sent in one request.
  public var partSums: PartSums?

  /// Creates a description of a file without reading it.
  public init(
    path: String, size: Int64, sha256: String, contentType: String = "application/octet-stream",
    metadata: [String: String] = [:], partSums: PartSums? = nil
  ) {
    self.path = path
    self.size = size
    self.sha256 = sha256
    self.contentType = contentType
    self.metadata = metadata
    self.partSums = partSums
  }

  /// The metadata name of the checksum of the whole content.
  static let checksumName = "sha256"

  /// The headers of the request that creates the object. HTTP carries ASCII: other characters, and `%`, become `%XX`.
  var headers: [(name: String, value: String)] {
    let all = metadata.merging([Self.checksumName: sha256]) { $1 }
    return [("Content-Type", contentType)]
      + all.sorted { $0.key < $1.key }.map { ("x-amz-meta-\($0.key)", Self.headerValue($0.value)) }
  }

  private static func headerValue(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "%") }
    return isPlain && !text.hasPrefix(" ") && !text.hasSuffix(" ") ? text : text.percentEncoded()
  }

  /// Refuses content that S3 cannot store and metadata that HTTP cannot carry.
  func check() throws(UploadsError) {
    guard (0...Self.largest).contains(size) else {
      throw UploadsError(.invalidArgument, "the size of \(path) is \(size) bytes; allowed: 0 to \(Self.largest)")
    }
    guard sha256.utf8.count == 64, [UInt8](hex: sha256) != nil else {
      throw UploadsError(.invalidArgument, "the SHA-256 of \(path) is “\(sha256)”; allowed: 64 hexadecimal digits")
    }
    for name in metadata.keys {
      guard !name.isEmpty, name.utf8.allSatisfy({ $0.isSmallAlphanumeric || $0 == UInt8(ascii: "-") }) else {
        throw UploadsError(
          .invalidArgument, "a metadata name of \(path) is “\(name)”; allowed: lowercase letters, digits and hyphens")
      }
    }
    let length = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    guard length <= Self.metadataLimit else {
      throw UploadsError(
        .invalidArgument, "the metadata of \(path) has \(length) bytes; allowed: at most \(Self.metadataLimit)")
    }
    guard contentType.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw UploadsError(.invalidArgument, "the media type of \(path) is “\(contentType)”; allowed: printable ASCII")
    }
  }

  /// The size of the largest object of S3: 5 TiB.
  static let largest: Int64 = 5 << 40
  /// The largest total length of metadata in bytes (Amazon S3 User Guide, “Working with object metadata”).
  private static let metadataLimit = 2048
}

/// The checksums of bytes that arrive piece by piece.
package struct Digests {
  private var sha = Crypto.SHA256()
  private var md = Insecure.MD5()
  private(set) var count: Int64 = 0

  package init() {}

  package init(of data: Data) { data.withUnsafeBytes { add($0) } }

  init(of slice: FileSlice) throws { try FileReading.read(slice) { add($0) } }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    sha.update(bufferPointer: bytes)
    md.update(bufferPointer: bytes)
    count += Int64(bytes.count)
  }

  package var sha256: [UInt8] { Array(sha.finalize()) }
  package var md5: [UInt8] { Array(md.finalize()) }

  package static func md5(of bytes: [UInt8]) -> [UInt8] { Array(Insecure.MD5.hash(data: bytes)) }
}
