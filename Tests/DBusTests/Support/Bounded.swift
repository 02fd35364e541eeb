import DBus
import Foundation
import Testing

/// Something a test waits for did not happen in time.
struct TestTimeout: Error, CustomStringConvertible {
  var description: String
}

/// Runs a body that must end within a bound, so that a fault hangs one test and not the suite.
func within<R: Sendable>(
  _ limit: Duration = .seconds(60), _ what: String = "the test's work",
  _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  try await withThrowingTaskGroup(of: R.self) { group in
    group.addTask(operation: body)
    group.addTask {
      try await Task.sleep(for: limit)
      throw TestTimeout(description: "\(what) took longer than \(limit)")
    }
    defer { group.cancelAll() }
    guard let result = try await group.next() else { throw TestTimeout(description: what) }
    return result
  }
}

/// Waits until a condition holds, for at most a minute.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(60)
  while try await !condition() {
    guard ContinuousClock.now < end else { throw TestTimeout(description: "never happened: \(what)") }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// How many file descriptors this process has open.
func openDescriptors() throws -> Int { try entries(of: "/proc/self/fd") }

/// How many threads this process has.
func runningThreads() throws -> Int { try entries(of: "/proc/self/task") }

private func entries(of folder: String) throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: folder).count
}

/// The ``DBusError`` a body fails with; anything else it throws is thrown on, and `nil` means that it did not fail.
func dbusError(_ body: () async throws -> some Sendable) async throws -> DBusError? {
  do {
    _ = try await body()
    return nil
  } catch let error as DBusError {
    return error
  }
}
