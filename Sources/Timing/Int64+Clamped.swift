/// Sums of times in milliseconds, one of which may be a corrupt number of a file or a clock that was set: they stay in
/// the range of `Int64`.
extension Int64 {
  /// Returns the sum, or the nearest number that exists.
  package func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// Returns the difference, or the nearest number that exists.
  package func subtractingClamped(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
