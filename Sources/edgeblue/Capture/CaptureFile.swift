import Btsnoop
import DurableFiles
import Glibc

/// The file of a recording, which another one follows when it is full.
struct CaptureFile {
  struct Limits: Sendable {
    /// The largest size of a file.
    var bytes: Int
    /// The number of files that are kept.
    var files: Int
  }

  private let path: String
  private let limits: Limits
  private let writer = BtsnoopWriter(.monitor)
  private var file: GrowingFile
  /// The notices that say which adapters there are, for the beginning of the next file.
  private var notices: [UInt32: CaptureRecord] = [:]
  private(set) var packets = 0
  /// The bytes of all files, also of those that are removed by now.
  private(set) var bytes = 0
  private(set) var files = 1

  private static let noticeLimit = 64

  /// Creates the file with its header.
  /// - Throws: `Failure` where a file is in its place; `FileError`.
  init(_ path: String, replacing: Bool, limits: Limits) throws {
    var status = stat()
    if !replacing, lstat(path, &status) == 0 {
      throw Failure("\(path) exists already", hint: "--replace replaces it", status: .badInput)
    }
    self.path = path
    self.limits = limits
    file = try GrowingFile(path, on: Disk())
    try append(writer.header)
  }

  /// Writes records; all of them are in the file afterwards, or none that is cut.
  /// - Returns: `false` when the last file is full: the rest is left out.
  mutating func write(_ records: [CaptureRecord]) throws -> Bool {
    var block: [UInt8] = []
    for record in records {
      remember(record)
      guard let bytes = writer.bytes(of: record) else { continue }
      if file.length + block.count + bytes.count > limits.bytes {
        try append(block)
        block = []
        guard limits.files > 1 else { return false }
        try rotate()
      }
      block += bytes
      packets += 1
    }
    try append(block)
    return true
  }

  private mutating func append(_ block: [UInt8]) throws {
    guard !block.isEmpty else { return }
    let length = file.length
    do {
      try file.append(block)
      bytes += block.count
    } catch {
      // A record that is cut would end the file for every reader.
      try? file.truncate(to: length)
      throw error
    }
  }

  private mutating func remember(_ record: CaptureRecord) {
    switch record.kind {
    case .newIndex, .indexInformation, .openedIndex, .systemNote:
      guard notices.count < Self.noticeLimit else { return }
      // Each note of the kernel is another one.
      let number = record.kind == .systemNote ? UInt32(notices.count) << 8 | 0xffff_0000 : UInt32(record.adapter) << 8
      notices[number | UInt32(record.kind.rawValue)] = record
    case .deletedIndex: notices = notices.filter { $0.value.adapter != record.adapter }
    default: break
    }
  }

  /// Renames the file to NAME.1, that one to NAME.2, and so on; the last one is replaced.
  private mutating func rotate() throws {
    for number in stride(from: limits.files - 1, to: 0, by: -1) {
      let (old, new) = (number == 1 ? path : "\(path).\(number - 1)", "\(path).\(number)")
      guard rename(old, new) == 0 || errno == ENOENT else { throw FileError("renaming \(old)", errno: errno) }
    }
    file = try GrowingFile(path, on: Disk())
    files += 1
    let start = notices.values.sorted { ($0.time, $0.kind.rawValue) < ($1.time, $1.kind.rawValue) }
    try append(writer.header + start.flatMap { writer.bytes(of: $0) ?? [] })
  }
}
