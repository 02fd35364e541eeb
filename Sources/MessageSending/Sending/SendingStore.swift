internal import DurableFiles
internal import FoundationEssentials

/// The schedule's record on disk, with the lock that lets one process at a time change it.
struct SendingStore: Sendable {
  private let file: WholeFile
  private let lockPath: String

  /// The number of attempts to get the lock, 5 ms apart: a process that only reads holds it for an instant.
  private static let attempts = 20

  init(folder: String, disk: Disk) {
    file = WholeFile(path: folder + "/sending.state", limit: SendingRecord.byteCount, disk: disk)
    lockPath = folder + "/sending.lock"
  }

  /// Takes the lock for a change, or for a whole run.
  /// - Returns: `nil` if another run holds it.
  func lock() throws(MessageSendingError) -> FileLock? {
    do throws(FileError) {
      return try FileLock(path: lockPath, attempts: Self.attempts)
    } catch {
      throw MessageSendingError(error)
    }
  }

  /// Reads the record and changes nothing, so that it needs no lock.
  /// - Returns: A new record if there is none.
  /// - Throws: ``MessageSendingError`` with code `.storage` or `.damagedFile`.
  func read() throws(MessageSendingError) -> SendingRecord {
    let data: Data?
    do throws(FileError) { data = try file.read() } catch { throw MessageSendingError(error) }
    guard let data else { return SendingRecord() }
    do throws(MessageSendingError) {
      return try SendingRecord(bytes: [UInt8](data))
    } catch {
      throw MessageSendingError(.damagedFile, "\(file.path): \(error.message)")
    }
  }

  /// Reads the record with the lock held; a damaged one is set aside, and a new one takes its place.
  /// - Returns: The record, and the problem with the damaged one.
  func load() throws(MessageSendingError) -> (record: SendingRecord, problem: MessageSendingError?) {
    do throws(MessageSendingError) {
      return (try read(), nil)
    } catch {
      guard error.code == .damagedFile else { throw error }
      let problem = error
      do throws(FileError) { try file.setAside() } catch { throw MessageSendingError(error) }
      // A run that may have been owed is owed.
      var record = SendingRecord()
      record.isPending = true
      return (record, problem)
    }
  }

  func save(_ record: SendingRecord) throws(MessageSendingError) {
    do throws(FileError) { try file.write(Data(record.bytes)) } catch { throw MessageSendingError(error) }
  }
}

extension SendingRecord {
  /// Reads the record in a state folder, for display.
  /// - Returns: `nil` if the sender has never started.
  /// - Throws: ``MessageSendingError`` with code `.storage` or `.damagedFile`.
  public static func read(folder: String) throws(MessageSendingError) -> SendingRecord? {
    let record = try SendingStore(folder: folder, disk: Disk()).read()
    return record == SendingRecord() ? nil : record
  }
}
