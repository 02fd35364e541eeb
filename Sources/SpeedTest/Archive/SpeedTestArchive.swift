package import DurableFiles
internal import FoundationEssentials

/// A folder with the results of speed tests: one file for each, numbered from 1.
///
/// A result is durable when ``add(_:)`` returns. Several programs may add to one folder; they take turns.
public struct SpeedTestArchive: Sendable {
  /// The path of the folder.
  public let path: String
  private let disk: Disk

  /// The number of results that are kept; the oldest are removed beyond that.
  public static let capacity = 1000
  /// The largest file of a result in bytes: 120 threads of 30 s have 16 MiB.
  private static let sizeLimit = 64 << 20
  /// The attempts to take the lock, 5 ms apart; adding takes some milliseconds.
  private static let lockAttempts = 400

  /// Creates an archive in a folder, without accessing the disk.
  public init(path: String) { self.init(path: path, disk: Disk()) }

  /// Creates an archive on a disk whose steps a test can make fail.
  package init(path: String, disk: Disk) {
    self.path = path
    self.disk = disk
  }

  /// Stores a result durably under the next number.
  /// - Returns: The record with its number.
  /// - Throws: ``SpeedTestError`` with code `.storage`, and `.busy` if another program holds the folder for 2 s.
  public func add(_ record: SpeedTestRecord) throws(SpeedTestError) -> SpeedTestRecord {
    try SpeedTestError.storing {
      try disk.createFolder(path)
      guard let lock = try FileLock(path: path + "/lock", attempts: Self.lockAttempts) else {
        throw SpeedTestError(.busy, "another program holds \(path)")
      }
      defer { lock.release() }
      var record = record
      let numbers = try numbers()
      record.number = (numbers.last ?? 0) + 1
      try write(record)
      for old in numbers.dropLast(Self.capacity - 1) { try disk.remove(file(old)) }
      return record
    }
  }

  /// Replaces a stored result durably, for example by one with more parts.
  /// - Parameter record: The record, whose number is that of the stored one.
  /// - Throws: ``SpeedTestError`` with code `.storage`, and `.invalidArgument` for a record without a number.
  public func replace(_ record: SpeedTestRecord) throws(SpeedTestError) {
    guard record.number > 0 else { throw SpeedTestError(.invalidArgument, "the record was not stored before") }
    try SpeedTestError.storing { try write(record) }
  }

  private func write(_ record: SpeedTestRecord) throws {
    try WholeFile(path: file(record.number), limit: Self.sizeLimit, disk: disk).write(document: record)
  }

  /// Returns the numbers of the stored results, ascending; none if there is no folder.
  /// - Throws: ``SpeedTestError`` with code `.storage`.
  public func numbers() throws(SpeedTestError) -> [Int] {
    try SpeedTestError.storing {
      guard try disk.exists(path) else { return [] }
      return try disk.names(in: path).compactMap { name in
        guard name.hasSuffix(".json"), let number = Int(name.dropLast(5)), number > 0, file(number) == path + "/" + name
        else { return nil }
        return number
      }.sorted()
    }
  }

  /// Returns the result of a number; `nil` if there is none.
  /// - Throws: ``SpeedTestError`` with code `.storage`, and `.damagedFile` for a file that is corrupt.
  public func record(_ number: Int) throws(SpeedTestError) -> SpeedTestRecord? {
    try WholeFile(path: file(number), limit: Self.sizeLimit, disk: disk).document { data in
      guard let record = try? JSONDecoder().decode(SpeedTestRecord.self, from: data), record.isPlausible,
        record.number == number
      else { return nil }
      return record
    }
  }

  /// Returns the newest result of a test of a loop; `nil` if it is not among the newest 100.
  /// - Throws: ``SpeedTestError`` with code `.storage`.
  public func record(of loop: SpeedTestRecord.Loop) throws(SpeedTestError) -> SpeedTestRecord? {
    for number in try numbers().suffix(100).reversed() {
      do {
        if let record = try record(number), record.loop == loop { return record }
      } catch  where error.code == .damagedFile {
        // It cannot be the one of this loop: that was stored whole.
        continue
      }
    }
    return nil
  }

  /// Six digits, so that names sort like numbers up to a million.
  private func file(_ number: Int) -> String {
    let digits = String(number)
    return path + "/" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ".json"
  }
}
