import Btsnoop
import Streams

/// A recording under way: the kernel's packets go through the filter into the file, on one thread.
final class CaptureSession: Sendable {
  /// Starts to read from the kernel; tests replace the kernel by it.
  typealias Opener =
    @Sendable (
      _ onRecords: @escaping @Sendable ([CaptureRecord]) -> Void, _ onEnd: @escaping @Sendable (BtsnoopError?) -> Void
    ) throws(BtsnoopError) -> TrafficMonitor

  /// The end of a recording.
  struct End: Sendable {
    enum Reason: String, Sendable {
      case stopped, time, size, failed
    }

    var reason: Reason
    var error: (any Error)?
    var packets: Int
    var bytes: Int
    var files: Int
  }

  private struct State {
    /// `nil` before the kernel has granted access, and after the end.
    var file: CaptureFile?
    var filter: CaptureFilter
    var timeline = Timeline(window: CaptureSession.window)
    /// What came before there was a file.
    var early: [CaptureRecord] = []
    /// The first reason to end; later packets are left out.
    var reason: End.Reason?
    var error: (any Error)?
  }

  /// The microseconds over which repeated events are put together.
  static let window: Int64 = 5_000_000

  /// What happens, in bursts; a consumer that is too slow misses some.
  let entries: BoundedStream<[TimelineEntry]>
  private let source: BoundedStream<[TimelineEntry]>.Source
  private let ends: BoundedStream<End>
  private let endSource: BoundedStream<End>.Source
  private let state: Lock<State>
  private let monitor = Lock<TrafficMonitor?>(nil)

  /// Starts to read, and creates the file then: without the permission there is none.
  /// - Throws: `BtsnoopError`, `FileError`, or `Failure` where a file is in the place.
  init(
    to path: String, replacing: Bool, limits: CaptureFile.Limits, filter: CaptureFilter.Options,
    open: Opener = { (records, end) throws(BtsnoopError) in try TrafficMonitor(onRecords: records, onEnd: end) }
  ) throws {
    (entries, source) = BoundedStream.make(of: [TimelineEntry].self, limit: 256)
    (ends, endSource) = BoundedStream.make(of: End.self, limit: 1)
    state = Lock(State(filter: CaptureFilter(filter)))
    let opened = try open({ [self] in handle($0) }, { [self] in finish($0) })
    monitor.withLock { $0 = opened }
    do {
      try state.withLock { state in
        state.file = try CaptureFile(path, replacing: replacing, limits: limits)
        let early = state.early
        state.early = []
        Self.write(early, &state)
      }
    } catch {
      opened.stop()
      throw error
    }
  }

  /// Ends the recording: what the kernel has delivered up to now is still written.
  func stop(_ reason: End.Reason = .stopped) {
    state.withLock { if $0.reason == nil { $0.reason = reason } }
    monitor.withLock { $0 }?.stop()
  }

  /// Waits for the end; only one task may wait.
  func end() async -> End {
    for await end in ends { return end }
    return End(reason: .stopped, packets: 0, bytes: 0, files: 0)
  }

  /// Yields what has been put together for long enough, where nothing happens that would.
  func tick(at time: Int64) {
    let entries = state.withLock { $0.timeline.advance(to: time) }
    if !entries.isEmpty { source.yield(entries) }
  }

  // MARK: The reading thread

  private func handle(_ records: [CaptureRecord]) {
    let entries = state.withLock { state -> [TimelineEntry] in
      guard state.file != nil else {
        state.early += records
        return []
      }
      return Self.write(records, &state)
    }
    if !entries.isEmpty { source.yield(entries) }
    if state.withLock({ $0.reason != nil }) { monitor.withLock { $0 }?.stop() }
  }

  @discardableResult
  private static func write(_ records: [CaptureRecord], _ state: inout State) -> [TimelineEntry] {
    // A recording that was stopped by a signal gets what came before it.
    guard state.reason == nil || state.reason == .stopped || state.reason == .time else { return [] }
    let kept = records.compactMap { state.filter.handle($0) }
    do {
      if try state.file?.write(kept) == false, state.reason == nil { state.reason = .size }
    } catch {
      state.reason = .failed
      state.error = error
    }
    return kept.flatMap { state.timeline.handle($0) }
  }

  private func finish(_ error: BtsnoopError?) {
    monitor.withLock { $0 = nil }
    let (end, entries) = state.withLock { state in
      let file = state.file
      state.file = nil
      let end = End(
        reason: state.reason ?? (error == nil ? .stopped : .failed), error: state.error ?? error,
        packets: file?.packets ?? 0, bytes: file?.bytes ?? 0, files: file?.files ?? 0)
      return (end, state.timeline.finish())
    }
    if !entries.isEmpty { source.yield(entries) }
    source.finish()
    endSource.yield(end)
    endSource.finish()
  }
}
