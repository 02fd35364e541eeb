internal import Timing

/// A stored session: what was measured between a grant of the control server and the next one, or the end of a run.
public struct CoverageSession: Sendable, Hashable {
  /// The number of the session in its store.
  public var id: Int64
  /// The identifier at the control server; `nil` if none was granted yet.
  public var uuid: String?
  /// The address of the control server.
  public var server: String
  /// The identifier of the run that measures or has measured the session; `nil` in a store of an older version.
  public var run: String?
  /// The start of the session, in microseconds since 1970.
  public var startedUs: Int64
  /// The instant at which the identifier was granted, to which times are sent relative; `nil` without one.
  public var anchorUs: Int64?
  /// The end of the session, in microseconds since 1970; `nil` while it is measured, and after a crash.
  public var finalizedUs: Int64?
  /// The number of stored fences.
  public var fences: Int
  /// The attempts to send the session, as far as they are known.
  public var sending: Sending

  /// The attempts to send a session.
  public struct Sending: Sendable, Hashable {
    /// The number of attempts so far.
    public var attempts = 0
    /// A Boolean value that indicates whether the server may have the session from an attempt without a reply.
    public var isUnconfirmed = false
    /// The number of refusals by the server.
    public var refusals = 0
    /// The instant before which the session is not sent, in microseconds since 1970; `nil` if it may be sent.
    public var notBeforeUs: Int64?
    /// The reason of the last failure; `nil` without one.
    public var problem: String?

    /// Creates what is known before the first attempt.
    public init() {}
  }
}

/// A fence as it is stored, with its times on the wall clock.
public struct StoredFence: Sendable, Hashable {
  /// The number of the fence within its run.
  public var number: Int
  /// The instant at which the fence was entered, in microseconds since 1970.
  public var enteredUs: Int64
  /// The instant at which the fence was left, in microseconds since 1970; `nil` after a crash.
  public var exitedUs: Int64?
  /// The centre of the fence.
  public var place: CoverageLocation
  /// The radius in metres, 15 or more.
  public var radius: Double
  /// The technology that was recorded last.
  public var technology: CoverageTechnology
  /// The number of pings with a reply.
  public var answered: Int
  /// The number of pings without a reply.
  public var lost: Int
  /// The mean time of the pings with a reply in hundredths of a millisecond; `nil` without one.
  public var meanHundredths: Int64?

  /// The mean time of the pings with a reply in milliseconds; `nil` without one.
  public var mean: Double? { meanHundredths.map { Double($0) / 100 } }
  /// A Boolean value that indicates whether there was no network, or none of the pings had a reply.
  public var isUncovered: Bool { technology == .none || (lost > 0 && answered == 0) }
  /// The colour on a map, as six hexadecimal digits: that of the technology, or grey without coverage.
  public var color: String { isUncovered ? CoverageTechnology.none.color : technology.color }

  /// Creates the stored form of a fence of a run that began at an instant of the wall clock.
  public init(_ fence: Fence, runStartUs: Int64) {
    number = fence.number
    enteredUs = runStartUs.addingClamped(Self.microseconds(fence.entered))
    exitedUs = fence.exited.map { runStartUs.addingClamped(Self.microseconds($0)) }
    place = fence.place
    radius = fence.radius
    technology = fence.technology
    answered = fence.pings.answered
    lost = fence.pings.lost
    meanHundredths = fence.pings.mean.map { Int64(($0 * 100).rounded()) }
  }

  static func microseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return Int64(clamping: seconds.multipliedReportingOverflow(by: 1_000_000).partialValue)
      .addingClamped(attoseconds / 1_000_000_000_000)
  }
}
