import DurableFiles
import Glibc
import FoundationEssentials

/// Keeps what is pending in a small file, for the time after a restart or a crash.
public struct BackgroundTaskStore: Sendable {
  /// What was found on disk.
  public struct Loaded: Sendable, Hashable {
    /// What was pending, or had begun and not ended.
    public var tasks: [Kept]
    /// What was wrong with the file; a person should hear of it.
    public var problem: BackgroundTasksError?
  }

  /// A request with the moment from which on it may run, by the wall clock: no other clock outlives a restart.
  public struct Kept: Sendable, Hashable {
    /// What is to run.
    public var request: BackgroundTaskRequest
    /// Unix milliseconds.
    public var dueMs: Int64

    /// How much is still to wait. Never longer than was asked for, however the wall clock was changed meanwhile.
    func remaining(atMs now: Int64) -> Duration {
      // Clamped first: a damaged number must not overflow.
      let limit = request.delay.wholeMilliseconds
      let (difference, overflow) = dueMs.subtractingReportingOverflow(now)
      return .milliseconds(overflow ? limit : min(max(difference, 0), limit))
    }
  }

  /// The file as it is written; a later format has another version.
  fileprivate struct Contents: Codable {
    struct Item: Codable {
      var identifier: String
      var kind: BackgroundTaskRequest.Kind
      var delayMs: Int64
      var requiresNetwork: Bool
      var requiresExternalPower: Bool
      var dueMs: Int64
    }

    var version = 1
    var tasks: [Item]
  }

  private let file: WholeFile

  /// Names the file; nothing is read yet. Its folder is there.
  public init(path: String) { file = WholeFile(path: path, limit: 1 << 20) }

  /// Reads what was pending. A file that cannot be understood is kept aside, with `.damaged` behind its name.
  /// - Throws: ``BackgroundTasksError`` with code `.storage`, when the file is there and cannot be read.
  public func load() throws(BackgroundTasksError) -> Loaded {
    do throws(FileError) {
      guard let data = try file.read() else { return Loaded(tasks: []) }
      if data.count <= file.limit, let contents = Self.decode(data), contents.version == 1 {
        return Loaded(tasks: contents.tasks.map(Kept.init))
      }
      try file.setAside()
    } catch {
      throw BackgroundTasksError(error)
    }
    return Loaded(
      tasks: [],
      problem: BackgroundTasksError(
        .damagedFile, "\(file.path) does not hold background tasks; none is pending",
        hint: "the file is kept as \(file.damagedPath)"))
  }

  /// Writes what is pending. When this returns it is on disk.
  /// - Throws: ``BackgroundTasksError`` with code `.storage`.
  public func save(_ tasks: [Kept]) throws(BackgroundTasksError) {
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try file.write(try encoder.encode(Contents(tasks: tasks.map(\.item))) + Data("\n".utf8))
    } catch let error as FileError {
      throw BackgroundTasksError(error)
    } catch {
      throw BackgroundTasksError(.storage, "\(error)")
    }
  }

  /// `nil` for anything else than what is written here; what exactly is wrong, the file kept aside shows.
  private static func decode(_ data: Data) -> Contents? { try? JSONDecoder().decode(Contents.self, from: data) }
}

extension BackgroundTaskStore.Kept {
  fileprivate init(_ item: BackgroundTaskStore.Contents.Item) {
    request = BackgroundTaskRequest(
      item.identifier, item.kind, delay: .milliseconds(item.delayMs), requiresNetwork: item.requiresNetwork,
      requiresExternalPower: item.requiresExternalPower)
    dueMs = item.dueMs
  }

  fileprivate var item: BackgroundTaskStore.Contents.Item {
    .init(
      identifier: request.identifier, kind: request.kind, delayMs: request.delay.wholeMilliseconds,
      requiresNetwork: request.requiresNetwork, requiresExternalPower: request.requiresExternalPower, dueMs: dueMs)
  }
}

extension BackgroundTasksError {
  init(_ failure: FileError) {
    self.init(
      .storage, "\(failure)", errno: failure.errno, hint: failure.errno == ENOENT ? "the folder has to be there" : nil)
  }
}

extension Duration {
  /// Rounded up, and clamped to what fits.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    return overflow ? (seconds < 0 ? .min : .max) : whole &+ (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}
