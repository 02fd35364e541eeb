/// The times without a precise location, in which pings belong to no place.
struct InaccurateWindows: Sendable, Hashable {
  private struct Window: Hashable {
    var start: Duration
    var end: Duration?
  }

  private var windows: [Window] = []

  /// The time for which a window is kept after its end; no ping is completed later than that.
  private static let memory = Duration.seconds(10)

  /// Notes a bad location, or that there is none.
  mutating func open(at instant: Duration) {
    if windows.last.map({ $0.end != nil }) ?? true { windows.append(Window(start: instant)) }
  }

  /// Notes a good location.
  mutating func close(at instant: Duration) {
    guard let last = windows.indices.last else { return }
    if windows[last].end == nil { windows[last].end = instant }
    windows.removeAll { $0.end.map { $0 + Self.memory < instant } ?? false }
  }

  /// Returns `true` if an instant lies within a window, its ends excluded.
  func contain(_ instant: Duration) -> Bool {
    windows.contains { $0.start < instant && ($0.end.map { instant < $0 } ?? true) }
  }
}
