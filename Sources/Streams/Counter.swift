/// A number that several threads count up.
///
/// ```swift
/// let counter = Counter()
/// counter.increment()
/// print(counter.value)  // 1
/// ```
package final class Counter: Sendable {
  private let count = Lock(0)

  /// Creates a counter at zero.
  package init() {}

  /// The number of increments so far.
  package var value: Int { count.withLock { $0 } }

  /// Adds one to the counter.
  package func increment() { count.withLock { $0 += 1 } }
}
