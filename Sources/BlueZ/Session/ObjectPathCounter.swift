internal import DBus
internal import Streams

/// A source of object paths for the objects of one kind that this process exports; no two are equal.
struct ObjectPathCounter: Sendable {
  private let kind: String
  private let count = Lock(0)

  init(_ kind: String) { self.kind = kind }

  /// Returns the path of a new object, for example `/org/edgeblue/agent7`.
  func next() -> ObjectPath {
    let number = count.withLock { count in
      count += 1
      return count
    }
    return ObjectPath(stringLiteral: "/org/edgeblue/\(kind)\(number)")
  }
}
