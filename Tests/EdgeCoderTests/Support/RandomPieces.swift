import DeterministicTesting

extension Array where Element == UInt8 {
  /// The bytes cut at random places into pieces of at most `longest` bytes.
  func randomPieces(longest: Int, using generator: inout SeededGenerator) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var index = 0
    while index < count {
      let end = Swift.min(count, index + Int.random(in: 1...longest, using: &generator))
      pieces.append(Array(self[index..<end]))
      index = end
    }
    return pieces
  }
}
