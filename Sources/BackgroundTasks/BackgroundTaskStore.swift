package import DurableFiles
import FoundationEssentials
import Glibc
internal import Timing

/// A store that keeps pending requests in a small file over restarts and crashes.
///
/// ```swift
/// let store = BackgroundTaskStore(path: "/var/lib/example/tasks.json")
/// for saved in try store.load().tasks { print(saved.request.identifier, saved.dueMs) }
/// ```
public struct BackgroundTaskStore: Sendable {
  /// The contents of the store.
  public struct Loaded: Sendable, Hashable {
    /// The requests that were pending or running.
    public var tasks: [Kept]
    /// The problem with the file, which a user should see; `nil` if it was good.
    public var problem: BackgroundTasksError?
  }

  /// A request with the wall-clock time from which on it may run, because no other clock survives a restart.
  public struct Kept: Sendable, Hashable {
    /// The request that was pending or running.
    public var request: BackgroundTaskRequest
    /// The time from which on the request may run, in Unix milliseconds.
    public var dueMs: Int64

    /// Returns the remaining delay, at most the request's own, however the wall clock was changed meanwhile.
    func remaining(atMs now: Int64) -> Duration {
      // Clamped first: a corrupt number must not overflow.
      let limit = request.delay.milliseconds(rounded: .up)
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

  /// Creates a store without reading its file, whose folder must exist.
  public init(path: String) { self.init(path: path, disk: Disk()) }

  /// Creates a store on a disk whose steps a test can make fail.
  package init(path: String, disk: Disk) { file = WholeFile(path: path, limit: 1 << 20, disk: disk) }

  /// Returns the requests in the file.
  ///
  /// A corrupt file is renamed with the suffix `.damaged`, and ``Loaded/problem`` says so.
  /// - Throws: ``BackgroundTasksError`` with code `.storage` if the file exists and cannot be read.
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
        .damagedFile, "the file \(file.path) is corrupt; no background task is pending",
        hint: "the corrupt file is \(file.damagedPath) now"))
  }

  /// Replaces the requests in the file, which is durable when this returns.
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

  /// Returns `nil` for a corrupt file; the renamed file shows what is wrong with it.
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
      identifier: request.identifier, kind: request.kind, delayMs: request.delay.milliseconds(rounded: .up),
      requiresNetwork: request.requiresNetwork, requiresExternalPower: request.requiresExternalPower, dueMs: dueMs)
  }
}

extension BackgroundTasksError {
  init(_ failure: FileError) {
    self.init(
      .storage, "\(failure)", errno: failure.errno, hint: failure.errno == ENOENT ? "the folder has to be there" : nil)
  }
}
