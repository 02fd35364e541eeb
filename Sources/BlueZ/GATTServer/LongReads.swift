/// The values that centrals are reading in several requests.
///
/// A handler returns whole values; a central receives parts of the value that was current when it started to read, so
/// that it never combines parts of two values. A value type, kept by each served attribute.
struct LongReads: Sendable {
  /// The largest number of values that are kept, at most 512 bytes each; beyond it the oldest reader starts again.
  static let limit = 64

  private var values: [Peer: [UInt8]] = [:]
  private var order: [Peer] = []

  /// Returns the value that a central is reading; `nil` when it starts, or when its value is no longer kept.
  func value(for peer: Peer, at offset: Int) -> [UInt8]? { offset > 0 ? values[peer] : nil }

  /// Returns the part of a value for a central, and keeps the value if the central will request more.
  /// - Parameter mtu: The ATT MTU of the connection. A central that receives MTU − 1 bytes requests more (Core
  ///   Specification 3.F.3.4.4.5).
  /// - Throws: ``AttributeRefusal/invalidOffset``.
  mutating func piece(of value: [UInt8], for peer: Peer, at offset: Int, mtu: Int) throws -> [UInt8] {
    order.removeAll { $0 == peer }
    values[peer] = nil
    guard (0...value.count).contains(offset) else { throw AttributeRefusal.invalidOffset }
    let value = Array(value.prefix(max(AttributeLimits.value, offset)))
    if value.count - offset >= mtu - 1 {
      if order.count == Self.limit { values[order.removeFirst()] = nil }
      values[peer] = value
      order.append(peer)
    }
    return Array(value[offset...])
  }
}
