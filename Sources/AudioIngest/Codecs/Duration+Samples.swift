extension Duration {
  /// Returns the number of whole samples that fit into the duration, rounded down.
  func samples(at rate: Int) -> Int {
    let (seconds, attoseconds) = components
    return Int(seconds) * rate + Int(attoseconds / 1_000_000_000) * rate / 1_000_000_000
  }

  /// Returns the duration of a number of samples.
  static func samples(_ count: Int, at rate: Int) -> Duration {
    .seconds(count / rate) + .nanoseconds(count % rate * 1_000_000_000 / rate)
  }
}
