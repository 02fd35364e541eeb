import DBus
import Streams

/// A value that a handler on another thread fills and the test reads.
final class Box<Value: Sendable>: Sendable {
  private let lock: Lock<Value>

  init(_ value: Value) { lock = Lock(value) }

  var value: Value { lock.withLock { $0 } }

  func set(_ value: Value) { lock.withLock { $0 = value } }

  @discardableResult
  func update<R: Sendable>(_ body: (inout Value) -> R) -> R { lock.withLock { body(&$0) } }
}
