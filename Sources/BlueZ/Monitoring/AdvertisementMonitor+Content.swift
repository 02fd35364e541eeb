extension AdvertisementMonitor {
  /// The conditions of an advertisement monitor.
  public struct Content: Sendable, Hashable {
    /// The patterns, of which an advertisement must match at least one.
    public var patterns: [AdvertisementPattern]
    /// The RSSI thresholds for found and lost; `nil` finds at any RSSI and never reports a loss.
    public var thresholds: Thresholds?
    /// The sampling of a device that stays in range, where the controller itself monitors; `nil` uses bluetoothd's
    /// default.
    public var sampling: Sampling?

    /// Creates the conditions of a monitor; they are checked when the monitor starts.
    public init(patterns: [AdvertisementPattern], thresholds: Thresholds? = nil, sampling: Sampling? = nil) {
      self.patterns = patterns
      self.thresholds = thresholds
      self.sampling = sampling
    }
  }

  /// The RSSI thresholds at which a device is found and lost.
  public struct Thresholds: Sendable, Hashable {
    /// The RSSI from which on a device is in range, in dBm, −127 to 20.
    public var high: Int
    /// The duration for which a device must be in range before it is found, in whole seconds, 1 to 300.
    public var highTimeout: Duration
    /// The RSSI below which a device is out of range, in dBm, −127 to 20 and less than ``high``.
    public var low: Int
    /// The duration for which a device must be out of range, or not received, before it is lost, in whole seconds, 1 to
    /// 300.
    public var lowTimeout: Duration

    /// Creates thresholds; they are checked when the monitor starts.
    public init(high: Int, highTimeout: Duration = .seconds(1), low: Int, lowTimeout: Duration = .seconds(5)) {
      self.high = high
      self.highTimeout = highTimeout
      self.low = low
      self.lowTimeout = lowTimeout
    }
  }

  /// The rate at which a device that stays in range is reported.
  public enum Sampling: Sendable, Hashable {
    /// A report for every advertisement.
    case all
    /// One report until the device is lost.
    case once
    /// At most one report in this duration, 100 ms to 25.4 s in steps of 100 ms.
    case every(Duration)

    /// The value of `RSSISamplingPeriod`; `nil` for a duration outside the range.
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
  /// Checks all ranges: bluetoothd accepts invalid values, and drops the monitor a moment later without a reason
  /// (src/adv_monitor.c).
  func check() throws {
    guard !patterns.isEmpty else {
      throw BlueZError(.invalidArgument, "the monitor has no patterns; allowed: one or more")
    }
    for pattern in patterns { try pattern.check() }
    if let thresholds {
      let strengths = -127...20
      guard strengths.contains(thresholds.high), strengths.contains(thresholds.low), thresholds.low < thresholds.high
      else {
        throw BlueZError(
          .invalidArgument,
          "the thresholds are \(thresholds.high) and \(thresholds.low) dBm; allowed: −127 to 20, low below high")
      }
      for timeout in [thresholds.highTimeout, thresholds.lowTimeout]
      where timeout < .seconds(1) || timeout > .seconds(300) {
        throw BlueZError(.invalidArgument, "the timeout of a threshold is \(timeout); allowed: 1 s to 300 s")
      }
    }
    if let sampling, sampling.period == nil {
      throw BlueZError(.invalidArgument, "the sampling is \(sampling); allowed: 100 ms to 25.4 s")
    }
  }

  /// Checks that bluetoothd of a release can match the patterns. It reads services, service data and names out of an
  /// advertisement before it compares, and what is left of them matches nothing.
  func check(for release: BlueZRelease) throws {
    guard !release.has(.monitorsServicesAndNames),
      let deaf = patterns.first(where: { AdvertisementPattern.separateTypes.contains($0.type) })
    else { return }
    let type = "0x" + (deaf.type < 16 ? "0" : "") + String(deaf.type, radix: 16)
    throw BlueZError(
      .notSupported, "BlueZ \(release) never matches a monitor's pattern of type \(type)",
      hint: "monitor manufacturer data, or scan: discover(_:) filters by service and by name")
  }
}
