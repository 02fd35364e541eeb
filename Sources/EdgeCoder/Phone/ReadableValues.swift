/// The values that reads of the characteristics return: those for all centrals, and those for one.
package struct ReadableValues: Sendable {
  private struct Key: Hashable {
    var characteristic: EdgeCoderCharacteristic
    var peer: PeerID?
  }

  private var values: [Key: [UInt8]] = [:]

  /// Creates values that are all empty.
  package init() {}

  /// Sets a value for one central or, with `nil`, for all; an empty value removes it.
  package mutating func set(_ value: [UInt8], of characteristic: EdgeCoderCharacteristic, for peer: PeerID?) {
    values[Key(characteristic: characteristic, peer: peer)] = value.isEmpty ? nil : value
  }

  /// Returns the value that a central reads; empty if there is none for it.
  package func value(of characteristic: EdgeCoderCharacteristic, for peer: PeerID) -> [UInt8] {
    values[Key(characteristic: characteristic, peer: peer)] ?? values[Key(characteristic: characteristic, peer: nil)]
      ?? []
  }

  /// Forgets the values of a central that disconnected.
  package mutating func forget(_ peer: PeerID) { values = values.filter { $0.key.peer != peer } }
}
