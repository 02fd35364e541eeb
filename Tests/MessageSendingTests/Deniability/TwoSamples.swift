import Foundation

/// The two-sample test of Kolmogorov and Smirnov: whether two samples may come from one distribution.
enum TwoSamples {
  /// Returns the probability of a difference as large as this one between samples of one distribution, by the
  /// asymptotic formula. Equal values in the samples make it too large, and never too small.
  static func probability(_ one: [Double], _ other: [Double]) -> Double {
    let (one, other) = (one.sorted(), other.sorted())
    guard !one.isEmpty, !other.isEmpty else { return one.isEmpty == other.isEmpty ? 1 : 0 }
    var (place, otherPlace, distance) = (0, 0, 0.0)
    while place < one.count, otherPlace < other.count {
      let value = min(one[place], other[otherPlace])
      while place < one.count, one[place] == value { place += 1 }
      while otherPlace < other.count, other[otherPlace] == value { otherPlace += 1 }
      distance = max(
        distance, abs(Double(place) / Double(one.count) - Double(otherPlace) / Double(other.count)))
    }
    let size = (Double(one.count) * Double(other.count) / Double(one.count + other.count)).squareRoot()
    let lambda = (size + 0.12 + 0.11 / size) * distance
    // The series converges slowly where the probability is 1 anyway.
    guard lambda > 0.2 else { return 1 }
    let sum = (1...100).reduce(0) { sum, term in
      let power = exp(-2 * Double(term * term) * lambda * lambda)
      return sum + (term.isMultiple(of: 2) ? -power : power)
    }
    return min(max(2 * sum, 0), 1)
  }
}
