import DurableFiles
import Foundation
import JSONValues
import Logging
import SpeedTest
import Streams
import SystemState
import Timing

/// The live values of a loop that runs, for processes that look: they are in the lock of the process, and not durable.
struct LoopLive: Codable, Hashable, Sendable {
  var pid: Int32
  /// The distance in metres from the reference; `nil` if it is unknown.
  var moved: Double?
  /// The source of locations and its state, in words; `nil` without a source.
  var location: String?
  /// The code of the error that keeps the source from delivering locations, in words; `nil` if it works.
  var locationError: String?
  /// The inhibitor that keeps the machine awake, in words.
  var awake: String
  /// The reason for which the loop stands still; `nil` if it does not.
  var problem: String?
  /// `true` if the process is an agent, which does more than run the loop.
  var isAgent: Bool?

  /// Returns the live values of a running loop; `nil` if none runs.
  static func read(_ folder: SpeedTestFolder) throws -> LoopLive? {
    guard try FileLock.isHeld(path: folder.loopLockPath) else { return nil }
    let bytes = try Disk().read(folder.loopLockPath, limit: 64 << 10, followsLinks: false) ?? []
    // Not written as a whole; a look between two values finds nothing.
    return try? JSONDecoder().decode(LoopLive.self, from: Data(bytes.prefix { $0 != 0x0a }))
  }

  func publish(in lock: FileLock) {
    // A value of these types is always JSON.
    guard let data = try? JSONEncoder().encode(self) else { return }
    lock.publish([UInt8](data) + [0x0a])
  }
}

/// The host of a loop: this machine's clocks, disk, network and desktop.
final class LoopSurroundings: LoopHost {
  private struct Values {
    var use: BackgroundActivity.Use?
    var shown: LoopState?
    var location: String?
    var locationError: LocationError?
    var moved: Double?
    var problem: String?
    /// The number of the newest sleep, whose alarm it is.
    var sleeps = 0
  }

  private let folder: SpeedTestFolder
  private let settings: LoopSettings
  private let id: UUID
  private let plan: LoopPlan
  private let terminal: Terminal
  private let lock: FileLock
  private let isAgent: Bool
  private let onChange: @Sendable (LoopUpdate) -> Void
  private let activity: BackgroundActivity
  private let alarm = HostAlarm()
  private let logger = Logger(label: "edgeblue.loop")
  private let values = Lock(Values())
  /// The locations during a test; `nil` without a source.
  let locations: LocationLog?

  init(
    _ contents: LoopStore<LoopSettings>.Contents, folder: SpeedTestFolder, lock: FileLock, terminal: Terminal,
    isAgent: Bool, onChange: @escaping @Sendable (LoopUpdate) -> Void
  ) {
    self.isAgent = isAgent
    self.onChange = onChange
    self.folder = folder
    self.lock = lock
    self.terminal = terminal
    settings = contents.settings
    locations = contents.settings.location.map { LocationLog(provider: $0.kind.rawValue) }
    id = contents.state.id
    plan = contents.state.plan
    var options = BackgroundActivity.Options()
    options.mode = .block
    options.who = "EdgeBlue loop"
    options.why = "the next speed test is not due yet"
    activity = BackgroundActivity(options)
  }

  // MARK: Clocks and disk

  func now() -> LoopInstant { LoopInstant.system() }

  func sleep(milliseconds: Int64) async throws {
    // The sleep that this one replaces may end after it has begun, and must not take its alarm away.
    let number = values.withLock { values in
      alarm.set(.milliseconds(milliseconds))
      values.sleeps += 1
      return values.sleeps
    }
    defer { values.withLock { if $0.sleeps == number { alarm.set(nil) } } }
    try await TimeSource.continuous.sleep(for: .milliseconds(milliseconds))
  }

  func save(_ state: LoopState) throws { try folder.loop.save(.init(state: state, settings: settings)) }

  func storedOutcome(of test: LoopTest) -> LoopOutcome? {
    do {
      return try folder.archive.record(of: reference(to: test)).map(LoopOutcome.init)
    } catch {
      logger.warning("results not read", metadata: ["reason": "\(Failure(error).message)"])
      return nil
    }
  }

  private func reference(to test: LoopTest) -> SpeedTestRecord.Loop {
    .init(id: id, test: test.number, attempt: test.attempt)
  }

  // MARK: Tests

  func run(_ test: LoopTest) async -> LoopOutcome {
    do {
      let lock = try folder.lockTest()
      defer { lock.release() }
      let others = NetworkUse.others()
      let prepared = try await prepared(test)
      locations?.begin()
      let start = ContinuousClock.now
      let report = try await prepared.client.run(prepared.plan)
      let duration = start.duration(to: .now).milliseconds(rounded: .toNearest)
      var record = report.record(server: prepared.server, startMs: test.startMs, durationMs: duration)
      record.loop = reference(to: test)
      record.control = prepared.granted?.reference
      record.locations = locations?.end()
      record.alongside = NetworkUse.merged(others, NetworkUse.others())
      return await kept(record, prepared.granted)
    } catch {
      return LoopOutcome(.failed, reason: Failure(error).message)
    }
  }

  private func prepared(_ test: LoopTest) async throws -> PreparedTest {
    let loop = ControlLoop(id: id, test: test.number, plan: plan)
    let granted = try await settings.test.controlServer(folder)?.request(settings.test, loop: loop)
    return try settings.test.prepared(granted)
  }

  /// Stores a result; then submits it, if a control server has granted the test.
  private func kept(_ record: SpeedTestRecord, _ granted: ControlledTest?) async -> LoopOutcome {
    var record = record
    do {
      // Before everything else: what is stored here is submitted whatever happens then.
      try await granted?.keep(record)
      record = try folder.archive.add(record)
    } catch {
      // The figures are true, and in the history; the samples are lost.
      logger.error("result not stored", metadata: ["reason": "\(Failure(error).message)"])
    }
    if let granted, record.result.failure == nil { await submit(record, granted) }
    return LoopOutcome(record)
  }

  /// Submits a result, and runs the quality-of-service tests. The measurement counts whatever becomes of them: what was
  /// not submitted is submitted with the next test.
  private func submit(_ record: SpeedTestRecord, _ granted: ControlledTest) async {
    do {
      note(try await granted.submit())
      guard case .control(_, runsQoS: true) = settings.test.source else { return }
      var record = record
      record.qos = try await granted.qualityTests()
      if record.number > 0 { try folder.archive.replace(record) }
      note(try await granted.submit())
    } catch {
      logger.warning("result not submitted", metadata: ["reason": "\(Failure(error).message)"])
    }
  }

  private func note(_ outcome: SubmissionOutcome?) {
    switch outcome {
    case .submitted, nil: break
    case .waiting(let reason), .declined(let reason):
      logger.warning("result not submitted", metadata: ["reason": "\(reason)"])
    }
  }

  // MARK: Desktop

  func keepAwake(_ isNeeded: Bool) {
    // The end of a use calls back; not under the lock.
    let old = values.withLock { values in
      defer { values.use = isNeeded ? values.use ?? activity.begin() : nil }
      return isNeeded ? nil : values.use
    }
    old?.end()
  }

  func notify(_ notice: LoopNotice) {
    let text = "Test \(notice.number) of \(notice.tests) is due: \(notice.trigger.words). It begins when you are back."
    terminal.happened(
      text, "notification", ["test": .number(notice.number), "trigger": .string(notice.trigger.rawValue)])
    // Without a session, libdbus would start a bus.
    guard ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"] != nil else { return }
    Task {
      do {
        try await DesktopNotification(from: "EdgeBlue", "Speed test", body: text).show()
      } catch {
        logger.warning("desktop notification failed", metadata: ["reason": "\(Failure(error).message)"])
      }
    }
  }

  // MARK: Display

  func loopChanged(_ update: LoopUpdate) {
    let (old, oldProblem) = values.withLock { values in
      defer {
        values.shown = update.state
        values.moved = update.moved
        values.problem = update.problem
      }
      return (values.shown, values.problem)
    }
    for news in LoopNews.between(old, update.state) { news.show(terminal) }
    onChange(update)
    if let problem = update.problem, oldProblem == nil {
      terminal.happened("the loop stands still: \(problem)", "problem", ["reason": .string(problem)], paint: .red)
    }
    publish()
  }

  /// Notes the state of the source of locations.
  /// - Parameter error: The error if the source cannot be used.
  func locationChanged(_ text: String, _ error: LocationError? = nil) {
    let isNew = values.withLock { values in
      defer {
        values.location = text
        values.locationError = error
      }
      return values.location != text || values.locationError != error
    }
    guard isNew else { return }
    terminal.happened(
      "location: \(text)", "location",
      ["state": .string(text), "error": JSONValue(error?.code.description)])
    publish()
  }

  private func publish() {
    let live = values.withLock { values in
      LoopLive(
        pid: getpid(), moved: values.moved, location: values.location,
        locationError: values.locationError?.code.description, awake: activity.state.words, problem: values.problem,
        isAgent: isAgent ? true : nil)
    }
    live.publish(in: lock)
  }

  /// Publishes every change of the inhibitor until the task is cancelled.
  func followActivity() async {
    for await _ in activity.states() { publish() }
  }

  func close() { activity.close() }
}

extension BackgroundActivity.State {
  /// The state of the inhibitor in words.
  fileprivate var words: String {
    switch self {
    case .released: "not needed"
    case .waiting: "no logind has granted an inhibitor"
    case .held: "the machine does not sleep by itself"
    case .refused(let reason): "refused: \(reason)"
    }
  }
}
