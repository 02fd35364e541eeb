internal import Crypto
internal import FoundationEssentials
import Glibc

/// What an object is to hold: a file of this machine, and what is said about it.
public struct ObjectContent: Sendable, Hashable {
  /// Where the file is.
  public var path: String
  /// Its length in bytes.
  public var size: Int64
  /// Its SHA-256, in hexadecimal.
  public var sha256: String
  /// Its media type.
  public var contentType: String
  /// The object's metadata, besides the checksum: names in small letters.
  public var metadata: [String: String]
  /// The sums of its parts, where it goes in parts and they are known; else they are made before it is sent.
  public var partSums: PartSums?

  /// Describes a file.
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

  /// The name of the metadata with the checksum of the whole content.
  static let checksumName = "sha256"

  /// The headers with which an object is made. HTTP carries ASCII: what is not becomes `%XX`, and so does `%`.
  var headers: [(name: String, value: String)] {
    let all = metadata.merging([Self.checksumName: sha256]) { $1 }
    return [("Content-Type", contentType)]
      + all.sorted { $0.key < $1.key }.map { ("x-amz-meta-\($0.key)", Self.headerValue($0.value)) }
  }

  private static func headerValue(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "%") }
    return isPlain && !text.hasPrefix(" ") && !text.hasSuffix(" ") ? text : text.percentEncoded()
  }

  /// Refuses metadata that HTTP or S3 cannot carry: 2 KB, names of letters, digits and hyphens.
  func check() throws(UploadsError) {
    guard (0...Self.largest).contains(size), sha256.utf8.count == 64, [UInt8](hex: sha256) != nil else {
      throw UploadsError(.invalidArgument, "the size or the checksum of \(path) is none")
    }
    let isNamed = metadata.keys.allSatisfy { name in
      !name.isEmpty && name.utf8.allSatisfy { $0.isSmallAlphanumeric || $0 == UInt8(ascii: "-") }
    }
    guard isNamed, headers.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count }) <= 2048,
      contentType.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
    else {
      throw UploadsError(
        .invalidArgument, "the metadata of \(path) cannot be sent",
        hint: "names have small letters, digits and hyphens; all of it has at most 2 KB")
    }
  }

  /// The largest object of S3: 5 TiB.
  static let largest: Int64 = 5 << 40
}

/// The sums of bytes as they come by.
struct Digests {
  private var sha = Crypto.SHA256()
  private var md = Insecure.MD5()
  private(set) var count: Int64 = 0

  init() {}

  init(of data: Data) { data.withUnsafeBytes { add($0) } }

  init(of slice: FileSlice) throws { try FileReading.read(slice) { add($0) } }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    sha.update(bufferPointer: bytes)
    md.update(bufferPointer: bytes)
    count += Int64(bytes.count)
  }

  var sha256: [UInt8] { Array(sha.finalize()) }
  var md5: [UInt8] { Array(md.finalize()) }

  static func md5(of bytes: [UInt8]) -> [UInt8] { Array(Insecure.MD5.hash(data: bytes)) }
}

/// A file that is read from beginning to end, in pieces.
package enum FileReading {
  /// As much as is read at once.
  package static let pieceLength = 256 << 10

  /// Reads a part of a file; each piece is given to `body`.
  /// - Throws: ``UploadsError``: `.fileMissing`, `.fileChanged` when it is shorter, `.storage`; what `body` throws;
  ///   `CancellationError`.
  static func read(_ slice: FileSlice, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let file = try open(slice.path)
    defer { close(file) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceLength, alignment: 16)
    defer { buffer.deallocate() }
    var (place, rest) = (slice.offset, slice.length)
    while rest > 0 {
      try Task.checkCancellation()
      let count = pread(file, buffer.baseAddress, Int(min(rest, Int64(buffer.count))), off_t(place))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw UploadsError.disk("reading \(slice.path)") }
      guard count > 0 else { throw UploadsError(.fileChanged, "\(slice.path) has become shorter") }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      place += Int64(count)
      rest -= Int64(count)
    }
  }

  /// Opens a file that is a file.
  package static func open(_ path: String) throws(UploadsError) -> Int32 {
    // A pipe would wait here for somebody who writes.
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw .disk("opening \(path)") }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw UploadsError(.invalidArgument, "\(path) is not a file")
    }
    return file
  }

  /// The length of a file.
  static func length(of path: String) throws(UploadsError) -> Int64 {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .disk("looking at \(path)") }
    return Int64(status.st_size)
  }
}

extension UploadsError {
  package static func disk(_ phase: String, _ number: Int32 = Glibc.errno) -> UploadsError {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR: .fileMissing
      case ENOSPC, EDQUOT, EFBIG: .noSpace
      default: .storage
      }
    return UploadsError(code, "\(phase): \(String(cString: strerror(number)))", errno: number)
  }
}
