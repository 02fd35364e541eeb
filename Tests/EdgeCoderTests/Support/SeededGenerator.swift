/// A small generator (SplitMix64) with a seed, so that a failing random case can be run again.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

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
