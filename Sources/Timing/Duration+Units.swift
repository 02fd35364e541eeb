extension Duration {
  /// The rounding of a fraction of a millisecond.
  package enum MillisecondRounding: Sendable {
    /// Drops the fraction.
    case towardZero
    /// Rounds a positive fraction up to the next millisecond, so that a timer never fires early.
    case up
    /// Rounds to the nearest millisecond; half a millisecond rounds up.
    case toNearest
  }

  /// Returns the duration in whole milliseconds, clamped to the range of `Int64`.
  package func milliseconds(rounded rounding: MillisecondRounding) -> Int64 {
    let (seconds, attoseconds) = components
    let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let offset: Int64 =
      switch rounding {
      case .towardZero: 0
      case .up: attoseconds > 0 ? attosecondsPerMillisecond - 1 : 0
      case .toNearest: attoseconds < 0 ? -attosecondsPerMillisecond / 2 : attosecondsPerMillisecond / 2
      }
    let (sum, carry) = whole.addingReportingOverflow((attoseconds + offset) / attosecondsPerMillisecond)
    return carry ? (seconds < 0 ? .min : .max) : sum
  }

  /// The duration in whole nanoseconds; 0 when negative, and at most a quarter of the range of `UInt64`.
  ///
  /// The clamp is a century away and leaves room to add the present instant.
  package var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max / 4 : Swift.min(product &+ UInt64(attoseconds / 1_000_000_000), .max / 4)
  }

  /// The duration in seconds, with the precision of a `Double`.
  package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
