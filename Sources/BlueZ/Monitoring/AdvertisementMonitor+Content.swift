extension AdvertisementMonitor {
  /// What is watched for.
  public struct Content: Sendable, Hashable {
    /// What an advertisement must have; one is enough.
    public var patterns: [AdvertisementPattern]
    /// How strong it must be to be found, and how weak to be lost; `nil` finds at any strength and never loses.
    public var thresholds: Thresholds?
    /// How often a device that stays is told of again, where the controller itself watches.
    public var sampling: Sampling?

    /// Describes what is watched for.
    public init(patterns: [AdvertisementPattern], thresholds: Thresholds? = nil, sampling: Sampling? = nil) {
      self.patterns = patterns
      self.thresholds = thresholds
      self.sampling = sampling
    }
  }

  /// How strong a device must be to be found, and how weak to be lost.
  public struct Thresholds: Sendable, Hashable {
    /// At least so strong is near, in dBm, −127…20.
    public var high: Int
    /// For so long before it is found, whole seconds, 1…300.
    public var highTimeout: Duration
    /// Weaker than this is far, in dBm, −127…20 and less than ``high``.
    public var low: Int
    /// For so long, or silent for so long, before it is lost, whole seconds, 1…300.
    public var lowTimeout: Duration

    /// Makes thresholds.
    public init(high: Int, highTimeout: Duration = .seconds(1), low: Int, lowTimeout: Duration = .seconds(5)) {
      self.high = high
      self.highTimeout = highTimeout
      self.low = low
      self.lowTimeout = lowTimeout
    }
  }

  /// How often a device that stays is told of again.
  public enum Sampling: Sendable, Hashable {
    /// With every advertisement.
    case all
    /// Once until it is lost.
    case once
    /// At most once in this time, 100 ms … 25.4 s in steps of 100 ms.
    case every(Duration)

    /// The value of `RSSISamplingPeriod`.
    var period: UInt16? {
      switch self {
      case .all: return 0
      case .once: return 0xff
      case .every(let time):
        let steps = time / .milliseconds(100)
        return (1...254).contains(steps) ? UInt16(steps) : nil
      }
    }
  }
}

extension AdvertisementMonitor.Content {
  /// bluetoothd takes what it does not like as if it were accepted, and lets go of it a moment later without a reason
  /// (src/adv_monitor.c), so all its ranges are checked here.
  func check() throws {
    guard !patterns.isEmpty else {
      throw BlueZError(.invalidArgument, "a monitor without patterns", hint: "it takes one or more")
    }
    for pattern in patterns { try pattern.check() }
    if let thresholds {
      let strengths = -127...20
      guard strengths.contains(thresholds.high), strengths.contains(thresholds.low), thresholds.low < thresholds.high
      else {
        throw BlueZError(
          .invalidArgument, "thresholds of \(thresholds.high) and \(thresholds.low) dBm",
          hint: "they take −127…20, the low one below the high one")
      }
      for timeout in [thresholds.highTimeout, thresholds.lowTimeout]
      where timeout < .seconds(1) || timeout > .seconds(300) {
        throw BlueZError(.invalidArgument, "a threshold held for \(timeout)", hint: "it takes 1…300 s")
      }
    }
    if let sampling, sampling.period == nil {
      throw BlueZError(.invalidArgument, "a sampling period of \(sampling)", hint: "it takes 100 ms … 25.4 s")
    }
  }
}
