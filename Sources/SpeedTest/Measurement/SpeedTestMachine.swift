internal import Timing

/// The state machine of a speed test: its phases over all connections.
///
/// It performs no I/O and has no clock. Its owner connects, runs exchanges, and reports what happened; the machine
/// answers with what to do next. All connections finish a phase before the next one begins.
package struct SpeedTestMachine: Sendable {
  /// The event that the machine accepts.
  package enum Event: Sendable {
    /// The test starts.
    case start
    /// A connection is authorised, with the chunk sizes that the server allows.
    case ready(Int, RMBT.ChunkLimits)
    /// The exchange of a connection is over.
    case finished(Int, ExchangeReport)
    /// A connection failed, or could not be made.
    case failed(Int, SpeedTestError)
    /// The test is to stop.
    case cancel
  }

  /// The instruction to the owner.
  package enum Action: Sendable, Hashable {
    /// Make and authorise a connection.
    case connect(Int)
    /// Run an exchange on a connection.
    case run(Int, Exchange)
    /// Close a connection.
    case close(Int)
    /// The phase changed.
    case enter(SpeedTestPhase)
    /// The test is over; all connections are closed.
    case finish(SpeedTestResult)
  }

  private struct Line {
    /// A Boolean value that indicates whether the connection can start an exchange.
    var isReady = false
    /// The last report of the present phase.
    var report: ExchangeReport?
    /// A Boolean value that indicates whether the connection has done its part of the present phase.
    var isDone = false
  }

  private let plan: SpeedTestPlan
  private var phase = SpeedTestPhase.connecting
  private var phaseStart = Duration.zero
  /// The start of the test.
  private var origin = Duration.zero
  private var lines: [Int: Line] = [:]
  private var limits = RMBT.ChunkLimits()
  /// The result as far as the test has come.
  package private(set) var result: SpeedTestResult

  /// The number of chunks up to which a pretest doubles the count; then the size is doubled.
  static let countBeforeSize = 8
  /// The last pretest step, in chunks of 4096 bytes, up to which a thread counts as slow.
  static let slowStep = 4
  /// The part of a second that a chunk should take.
  static let chunkTime = 0.02
  /// The largest chunk that is measured with, in bytes: a sender reads each chunk again and again, and larger ones do not
  /// stay in its processor's cache. Beyond 20 Gbit/s that costs a quarter of the rate (`Benchmarks/speedtest/run`).
  /// Each size also has payload of its own in memory.
  static let largestChunk = 1 << 20

  /// Creates a machine for a plan.
  package init(_ plan: SpeedTestPlan) {
    self.plan = plan
    result = SpeedTestResult(threads: plan.threads)
  }

  /// Accepts an event and returns what to do.
  package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    guard phase != .finished else { return [] }
    switch event {
    case .start:
      for index in 0..<plan.threads { lines[index] = Line() }
      origin = now
      result.times = SpeedTestResult.Times()
      return [.enter(.connecting)] + lines.keys.sorted().map { .connect($0) }
    case .ready(let index, let limits):
      guard lines[index] != nil else { return [.close(index)] }
      self.limits = limits
      lines[index]?.isReady = true
      return begin(at: now)
    case .finished(let index, let report):
      guard lines[index] != nil else { return [] }
      return finished(index, report, at: now)
    case .failed(let index, let error):
      guard lines[index] != nil else { return [] }
      return end(.init(phase: phase, error: error))
    case .cancel: return end(.init(phase: phase, error: nil))
    }
  }

  /// Starts the phase that waited for connections, when all of them are ready.
  private mutating func begin(at now: Duration) -> [Action] {
    guard lines.values.allSatisfy(\.isReady) else { return [] }
    switch phase {
    case .connecting: return enter(.downloadPretest, at: now)
    case .uploadPretest: return runAll(firstStep)
    default: return []
    }
  }

  private mutating func finished(_ index: Int, _ report: ExchangeReport, at now: Duration) -> [Action] {
    lines[index]?.report = report
    var actions: [Action] = []
    if !report.isComplete {
      lines[index]?.isReady = false
      actions.append(.close(index))
    }
    if let next = nextStep(after: report, at: now) { return actions + [.run(index, next)] }
    lines[index]?.isDone = true
    let isOver = phase == .latency || lines.values.allSatisfy(\.isDone)
    return actions + (isOver ? conclude(at: now) : [])
  }

  /// The exchange that continues the phase on the same connection; `nil` when the connection has done its part.
  private mutating func nextStep(after report: ExchangeReport, at now: Duration) -> Exchange? {
    let elapsed = now - phaseStart
    switch (phase, report.exchange) {
    case (.downloadPretest, .getChunks(let count, let size)) where elapsed < plan.pretest:
      let next = larger(count, size)
      return .getChunks(next.count, size: next.size)
    case (.uploadPretest, .putNoResult(let count, let size)) where elapsed < plan.pretest:
      let next = larger(count, size)
      return .putNoResult(next.count, size: next.size)
    case (.latency, _):
      result.pings.append(
        PingSample(client: report.clientTime.wholeNanoseconds, server: report.serverTime ?? 0))
      result.times?.pings.append((now - origin).wholeNanoseconds)
      let isEnough = result.pings.count >= plan.pings.lowerBound && elapsed >= plan.pingDuration
      return isEnough || result.pings.count >= plan.pings.upperBound ? nil : .ping
    default: return nil
    }
  }

  /// Twice as much: the count grows to 8, then the size to its limit, then the count to that of the protocol.
  private func larger(_ count: Int, _ size: Int) -> (count: Int, size: Int) {
    if count < Self.countBeforeSize { return (count * 2, size) }
    if size * 2 <= largestChunk { return (count, size * 2) }
    return (min(count * 2, RMBT.chunkCounts.upperBound), size)
  }

  private var largestChunk: Int { min(limits.allowed.upperBound, Self.largestChunk) }

  private var firstStep: Exchange {
    phase == .uploadPretest ? .putNoResult(1, size: limits.standard) : .getChunks(1, size: limits.standard)
  }

  // MARK: Phases

  /// Ends a phase that all connections have finished and starts the next one.
  private mutating func conclude(at now: Duration) -> [Action] {
    switch phase {
    case .downloadPretest:
      let reduced = reduce()
      let size = chunkSize
      return reduced + enter(.latency, at: now) + prepare(download: size)
    case .latency: return enter(.download, at: now) + runAll(.getTime(seconds: plan.seconds, size: pending))
    case .download:
      result.download = direction(size: pending)
      return plan.includesUpload ? enter(.uploadPretest, at: now) : end(nil)
    case .uploadPretest:
      pending = chunkSize
      return enter(.upload, at: now) + runAll(.put(seconds: plan.seconds, size: pending))
    case .upload:
      result.upload = direction(size: pending)
      return end(nil)
    case .connecting, .finished: return []
    }
  }

  /// The chunk size of the direction that is measured next.
  private var pending = RMBT.defaultChunkSize

  private mutating func prepare(download size: Int) -> [Action] {
    pending = size
    return lines.keys.min().map { [.run($0, .ping)] } ?? []
  }

  private mutating func enter(_ next: SpeedTestPhase, at now: Duration) -> [Action] {
    phase = next
    phaseStart = now
    if next == .download { result.times?.download = (now - origin).wholeNanoseconds }
    if next == .upload { result.times?.upload = (now - origin).wholeNanoseconds }
    for index in lines.keys {
      lines[index]?.report = nil
      lines[index]?.isDone = false
    }
    let entered: [Action] = [.enter(next)]
    switch next {
    case .downloadPretest: return entered + runAll(firstStep)
    case .uploadPretest:
      // A download that was cut off has cost its connection.
      let lost = lines.filter { !$0.value.isReady }.keys.sorted()
      return entered + (lost.isEmpty ? runAll(firstStep) : lost.map { .connect($0) })
    default: return entered
    }
  }

  private func runAll(_ exchange: Exchange) -> [Action] { lines.keys.sorted().map { .run($0, exchange) } }

  /// Leaves one connection when half of them or more were slow in the pretest.
  private mutating func reduce() -> [Action] {
    let steps = lines.values.compactMap { $0.report?.bytes }.sorted()
    guard let median = steps.isEmpty ? nil : steps[(steps.count - 1) / 2], lines.count > 1,
      median <= UInt64(Self.slowStep * RMBT.defaultChunkSize), let first = lines.keys.min()
    else { return [] }
    let others = lines.keys.filter { $0 != first }.sorted()
    for index in others { lines[index] = nil }
    result.threads = 1
    return others.map { .close($0) }
  }

  /// The chunk size, up to 1 MiB, that takes about 20 ms at the rate of the last pretest step, by the median of the connections.
  private var chunkSize: Int {
    let rates = lines.values.compactMap { line -> Double? in
      guard let report = line.report, report.clientTime > .zero else { return nil }
      return Double(report.bytes) / report.clientTime.inSeconds
    }.sorted()
    guard !rates.isEmpty else { return limits.standard }
    let wanted = rates[(rates.count - 1) / 2] * Self.chunkTime
    var size = limits.allowed.lowerBound
    while Double(size) * 2 <= wanted, size * 2 <= largestChunk { size *= 2 }
    return size
  }

  /// The throughput of the direction; the samples of all threads count from the start of the first one.
  private func direction(size: Int) -> SpeedTestResult.Direction? {
    let reports = lines.sorted { $0.key < $1.key }.compactMap(\.value.report)
    guard let first = reports.map(\.start).min() else { return nil }
    let samples = reports.map { report in
      let shift = (report.start - first).wholeNanoseconds
      return report.samples.map { ThroughputSample(nanoseconds: $0.nanoseconds + shift, bytes: $0.bytes) }
    }
    guard let throughput = Throughput(threads: samples) else { return nil }
    return .init(
      throughput: throughput, samples: samples, totalBytes: reports.reduce(0) { $0 + $1.bytes }, chunkSize: size)
  }

  private mutating func end(_ failure: SpeedTestResult.Failure?) -> [Action] {
    phase = .finished
    result.failure = failure
    defer { lines = [:] }
    return lines.keys.sorted().map { .close($0) } + [.enter(.finished), .finish(result)]
  }
}
