import Agent
import DurableFiles
import Foundation

/// The programs of this user that transfer much over the network: a speed test beside one of them measures a part of the
/// line, and says so.
///
/// Each of them holds a lock in one folder while it transfers; the kernel releases it however the program ends.
enum NetworkUse {
  private static let suffix = ".lock"

  /// The folder of the locks, in the usual state folder whatever other folder a command uses; `nil` if it is unknown.
  static var folder: String? {
    StateFolder.usualPath(environment: ProcessInfo.processInfo.environment, isRoot: geteuid() == 0)
      .map { $0 + "/network-use" }
  }

  /// Announces that this process transfers much, until the lock is released.
  /// - Parameters:
  ///   - name: The name of the command, for a user.
  ///   - folder: The folder of the locks.
  /// - Returns: `nil` if there is no folder, or nothing can be created in it: the announcement is a courtesy.
  static func announce(_ name: String, in folder: String? = folder) -> FileLock? {
    guard let folder else { return nil }
    do {
      try Disk().createFolder(folder)
      removeStale(in: folder)
      return try FileLock(path: "\(folder)/\(name)-\(getpid())\(suffix)", attempts: 20)
    } catch {
      return nil
    }
  }

  /// Returns the names of the other processes that transfer now, sorted.
  static func others(in folder: String? = folder) -> [String] {
    guard let folder else { return [] }
    let own = "-\(getpid())\(suffix)"
    return SystemFiles.entries(of: folder).filter { $0.hasSuffix(suffix) && !$0.hasSuffix(own) && isHeld($0, folder) }
      .map { name in String(name.dropLast(suffix.count).prefix { $0 != "-" }) }
  }

  /// Returns the names in either list, sorted.
  static func merged(_ first: [String], _ second: [String]) -> [String] { Set(first).union(second).sorted() }

  /// A lock that cannot be looked at is that of another user, and counts as none.
  private static func isHeld(_ name: String, _ folder: String) -> Bool {
    (try? FileLock.isHeld(path: "\(folder)/\(name)")) ?? false
  }

  private static func removeStale(in folder: String) {
    for name in SystemFiles.entries(of: folder) where name.hasSuffix(suffix) && !isHeld(name, folder) {
      // What cannot be removed stays, and is not held.
      try? Disk().remove("\(folder)/\(name)")
    }
  }
}
