/// A search for the quietest 200 ms of a range of a segment, block by block.
///
/// Positions are those of samples from the start of the segment. It has no samples: only the energy of ten blocks.
struct QuietPlace {
  /// The number of blocks of 20 ms in the range that is compared.
  private static let width = 10

  /// The position from which the range may start.
  private let start: Int
  private var energies: [Int] = []
  private var best: (energy: Int, position: Int)?

  /// Creates a search from a position on.
  init(from start: Int) { self.start = start }

  /// The middle of the quietest range so far, the last one of several; `nil` while there is none.
  var position: Int? { best?.position }

  /// Adds the next block.
  /// - Parameters:
  ///   - samples: The number of samples in the block.
  ///   - energy: The sum of their squares.
  ///   - end: The position behind the block.
  mutating func add(_ samples: Int, energy: Int, before end: Int) {
    guard end - samples >= start else { return }
    if energies.count == Self.width { energies.removeFirst() }
    energies.append(energy)
    guard energies.count == Self.width else { return }
    let sum = energies.reduce(0, +)
    if sum <= best?.energy ?? .max { best = (sum, end - samples * Self.width / 2) }
  }

  /// Moves the place found, if samples are inserted before it.
  mutating func insert(_ samples: Int, at position: Int) {
    if let best, best.position >= position { self.best?.position = best.position + samples }
  }
}
