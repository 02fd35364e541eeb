import ArgumentParser

/// Checks that the value of an option is one of its range; an option that is not given has none.
/// - Throws: `ValidationError`, which names the option and the range.
func checkRange<Number: BinaryInteger>(
  of option: String, _ value: Number?, _ range: ClosedRange<Number>, unit: String? = nil
) throws {
  guard let value, !range.contains(value) else { return }
  let unit = unit.map { " \($0)" } ?? ""
  throw ValidationError("\(option): allowed are \(range.lowerBound) to \(range.upperBound)\(unit).")
}
