/// The values that centrals are reading in pieces.
///
/// A handler gives whole values; what a central gets is cut from the one that was there when it began, so that it never
/// puts together pieces of two. A value type: who serves reads keeps one.
struct LongReads: Sendable {
  /// How many centrals may be in the middle of a value; beyond that the one that began first starts anew. Each keeps
  /// at most 512 bytes.
  static let limit = 64

  private var values: [Peer: [UInt8]] = [:]
  private var order: [Peer] = []

  /// The value that a central is in the middle of; `nil` when it begins, or what it had begun is gone.
  func value(for peer: Peer, at offset: Int) -> [UInt8]? { offset > 0 ? values[peer] : nil }

  /// Cuts what a central gets, and keeps the value if it will ask for more.
  /// - Parameter mtu: the ATT MTU of its link. A central that gets MTU − 1 bytes asks again (Core Specification
  ///   3.F.3.4.4.5).
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
