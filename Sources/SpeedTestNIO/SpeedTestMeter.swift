public import SpeedTest
internal import Streams
internal import Timing

/// The progress of a running test, for a display.
///
/// ```swift
/// import SpeedTest
///
/// let meter = SpeedTestMeter()
/// let progress = meter.progress
/// print(progress.phase, progress.bytes)  // connecting 0
/// ```
public final class SpeedTestMeter: Sendable {
  /// The state of a test at an instant.
  public struct Progress: Sendable, Hashable {
    /// The present phase of the test.
    public var phase = SpeedTestPhase.connecting
    /// The time since the start of the phase.
    public var elapsed = Duration.zero
    /// The bytes that were transferred and confirmed since the start of the phase, on all connections.
    public var bytes: UInt64 = 0
  }

  private struct State {
    var phase = SpeedTestPhase.connecting
    var start: Duration?
    var bytes: UInt64 = 0
  }

  private let time = TimeSource.continuous
  private let state = Lock(State())
  private let entered: @Sendable (SpeedTestPhase) -> Void

  /// Creates a meter, to be passed to one test.
  public convenience init() { self.init { _ in } }

  /// Creates a meter that reports each phase before anything of it happens.
  package init(entered: @escaping @Sendable (SpeedTestPhase) -> Void) { self.entered = entered }

  /// The state of the test now.
  public var progress: Progress {
    state.withLock {
      Progress(phase: $0.phase, elapsed: $0.start.map { time.now - $0 } ?? .zero, bytes: $0.bytes)
    }
  }

  func enter(_ phase: SpeedTestPhase) {
    state.withLock { $0 = State(phase: phase, start: time.now) }
    entered(phase)
  }

  func add(_ bytes: UInt64) {
    state.withLock { $0.bytes &+= bytes }
  }
}
