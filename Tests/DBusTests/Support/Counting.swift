import DBus
import Foundation

/// Returns the number of file descriptors that this process has open.
func openDescriptors() throws -> Int { try entries(of: "/proc/self/fd") }

/// Returns the number of threads of this process.
func runningThreads() throws -> Int { try entries(of: "/proc/self/task") }

private func entries(of folder: String) throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: folder).count
}

/// Returns the ``DBusError`` that a closure throws; `nil` if it throws none. Other errors are rethrown.
func dbusError(_ body: () async throws -> some Sendable) async throws -> DBusError? {
  do {
    _ = try await body()
    return nil
  } catch let error as DBusError {
    return error
  }
}
