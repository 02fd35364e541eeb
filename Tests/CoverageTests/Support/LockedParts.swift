import Streams

@testable import Coverage

/// The sessions that a destination was given.
final class LockedParts: Sendable {
  private let state = Lock<[CoverageExport.Part]>([])

  var parts: [CoverageExport.Part] { state.withLock { $0 } }

  /// Adds a session, and returns their number.
  func add(_ part: CoverageExport.Part) -> Int {
    state.withLock { parts in
      parts.append(part)
      return parts.count
    }
  }
}
