import DeterministicTesting
import DurableFiles
import Foundation
import Streams
import Testing
import Timing

@testable import BackgroundTasks

@Suite("The scheduler of background tasks", .timeLimit(.minutes(5))) struct BackgroundTaskSchedulerTests {
  private let folder: URL
  private let store: BackgroundTaskStore
  private let isDiskFull = Lock(false)
  private let clock = ManualClock()
  private let wall = Lock<Int64>(1_700_000_000_000)
  private let events: BoundedStream<BackgroundTaskEvent>
  private let eventsIn: BoundedStream<BackgroundTaskEvent>.Source

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-tasks-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    store = BackgroundTaskStore(
      path: folder.appending(path: "tasks.json").path,
      disk: Disk { [isDiskFull] step, _ in step == .write && isDiskFull.withLock { $0 } ? ENOSPC : nil })
    (events, eventsIn) = BoundedStream.make(limit: 100)
  }

  private func scheduler(
    _ handler: @escaping BackgroundTaskDefinition.Handler
  ) throws -> BackgroundTaskScheduler {
    var options = BackgroundTaskScheduler.Options()
    options.time = TimeSource(clock)
    options.wallClock = { [wall] in wall.withLock { $0 } }
    return try BackgroundTaskScheduler(
      [.init("runtime", .processing, handler), .init("heartbeat", .refresh, handler)], store: store,
      options: options, onEvent: { [eventsIn] in eventsIn.yield($0) })
  }

  private func running(
    _ scheduler: BackgroundTaskScheduler, _ body: () async throws -> Void
  ) async throws {
    let run = Task { try await scheduler.run() }
    do {
      try await body()
      run.cancel()
      try await run.value
      try FileManager.default.removeItem(at: folder)
    } catch {
      run.cancel()
      throw error
    }
  }

  private static let everything = BackgroundConditions(isInBackground: true, hasNetwork: true, onExternalPower: true)

  /// As the agent's runtime does: it works until it is told, asks for its next run, and ends.
  @Test("A task that submits its next run before it expires is run again")
  func aTaskThatAsksForItsNextRunBeforeItExpires() async throws {
    let scheduler = try scheduler { task in
      do {
        try await Task.sleep(for: .seconds(3600), clock: .steady)
      } catch {
        // Told to end.
        try await task.submit(.init(task.identifier, .processing, delay: .seconds(60)))
      }
    }
    try await running(scheduler) {
      try await scheduler.submit(.init("runtime", .processing))
      await scheduler.update(Self.everything)
      var seen = events.makeAsyncIterator()
      for run in 1...3 {
        #expect(await seen.next() == .began(identifier: "runtime", run: run))
        let begun = clock.now.offset
        await clock.advance(toSleeperAt: begun + .seconds(595))
        #expect(await seen.next() == .expired(identifier: "runtime", run: run, .budget))
        #expect(await seen.next() == .ended(identifier: "runtime", run: run, .completed))
        #expect(await scheduler.snapshot.pending.map(\.wait) == [.seconds(60)])
        await clock.advance(toSleeperAt: begun + .seconds(655))
      }
      #expect(await seen.next() == .began(identifier: "runtime", run: 4))
      #expect(await scheduler.snapshot.completed == 3)
    }
  }

  /// What is submitted is on disk when `submit` returns; a program that is killed finds it again, and what it was doing.
  @Test("Pending requests survive the process") func whatIsPendingOutlivesTheProgram() async throws {
    let hanging: BackgroundTaskDefinition.Handler = { _ in try await Task.sleep(for: .seconds(3600), clock: .steady) }
    let killed = try scheduler(hanging)
    let run = Task { try await killed.run() }
    await killed.update(Self.everything)
    try await killed.submit(.init("runtime", .processing))
    try await killed.submit(.init("heartbeat", .refresh, delay: .seconds(900)))
    var seen = events.makeAsyncIterator()
    #expect(await seen.next() == .began(identifier: "runtime", run: 1))
    #expect(try store.load().tasks.map(\.request.identifier) == ["heartbeat", "runtime"])

    // The wall clock is set back by a year meanwhile: nobody waits for longer than was asked for.
    for (hours, wait) in [(-8760, 900), (0, 900), (8760, 0)] {
      wall.withLock { $0 = 1_700_000_000_000 + Int64(hours) * 3_600_000 }
      let pending = try await scheduler(hanging).snapshot.pending
      let waits = Dictionary(uniqueKeysWithValues: pending.map { ($0.request.identifier, $0.wait) })
      #expect(waits == ["runtime": .zero, "heartbeat": .seconds(wait)])
    }
    run.cancel()
    try await run.value
    try FileManager.default.removeItem(at: folder)
  }

  @Test("A task that runs at shutdown is pending again") func theEndOfTheProgramLeavesWhatRanPending() async throws {
    let scheduler = try scheduler { _ in try await Task.sleep(for: .seconds(3600), clock: .steady) }
    let run = Task { try await scheduler.run() }
    await scheduler.update(Self.everything)
    let request = BackgroundTaskRequest("heartbeat", .refresh, delay: .zero, requiresNetwork: true)
    try await scheduler.submit(request)
    var seen = events.makeAsyncIterator()
    #expect(await seen.next() == .began(identifier: "heartbeat", run: 1))
    run.cancel()
    try await run.value
    #expect(await seen.next() == .expired(identifier: "heartbeat", run: 1, .shutDown))
    #expect(try store.load().tasks.map(\.request) == [request])
    let again = await #expect(throws: BackgroundTasksError.self) { try await scheduler.run() }
    #expect(again?.code == .busy)
    try FileManager.default.removeItem(at: folder)
  }

  @Test("A request that cannot be stored is refused") func whatCannotBeStoredIsRefused() async throws {
    let scheduler = try scheduler { _ in }
    try await running(scheduler) {
      isDiskFull.withLock { $0 = true }
      let error = await #expect(throws: BackgroundTasksError.self) {
        try await scheduler.submit(.init("heartbeat", .refresh))
      }
      #expect(error?.code == .storage)
      #expect(error?.errno == ENOSPC)
      #expect(await scheduler.snapshot.pending.isEmpty)
      isDiskFull.withLock { $0 = false }
      try await scheduler.submit(.init("heartbeat", .refresh))
      #expect(await scheduler.snapshot.pending.count == 1)
    }
  }

  @Test(
    "A corrupt file is set aside",
    arguments: ["", "{", #"{"version":2,"tasks":[]}"#, #"{"version":1,"tasks":[{"dueMs":1}]}"#, "\u{0}\u{0}"])
  func aDamagedFileIsKeptAside(text: String) throws {
    let path = folder.appending(path: "tasks.json")
    try Data(text.utf8).write(to: path)
    let loaded = try store.load()
    #expect(loaded.tasks.isEmpty)
    #expect(loaded.problem?.code == .damagedFile)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["tasks.json.damaged"])
    #expect(try store.load().problem == nil)
    try FileManager.default.removeItem(at: folder)
  }

  /// A person's commands, and a handler that throws.
  @Test("A user runs and expires tasks") func aPersonRunsAndExpiresTasks() async throws {
    struct Broken: Error {}
    let scheduler = try scheduler { task in
      if task.identifier == "heartbeat" { throw Broken() }
      try await Task.sleep(for: .seconds(3600), clock: .steady)
    }
    try await running(scheduler) {
      // Before it is ready nothing runs, and the request says so.
      while true {
        do {
          try await scheduler.runNow("heartbeat")
          break
        } catch let error as BackgroundTasksError where error.code == .busy {
          try await Task.sleep(for: .milliseconds(1))
        }
      }
      var seen = events.makeAsyncIterator()
      #expect(await seen.next() == .began(identifier: "heartbeat", run: 1))
      #expect(await seen.next() == .ended(identifier: "heartbeat", run: 1, .failed("an error of the type Broken")))
      try await scheduler.runNow("runtime")
      #expect(await seen.next() == .began(identifier: "runtime", run: 2))
      try await scheduler.expireNow("runtime")
      #expect(await seen.next() == .expired(identifier: "runtime", run: 2, .person))
      guard case .ended("runtime", 2, .failed)? = await seen.next() else {
        throw BackgroundTasksError(.busy, "it did not end")
      }
      let unknown = await #expect(throws: BackgroundTasksError.self) { try await scheduler.runNow("nonsense") }
      #expect(unknown?.code == .notRegistered)
      #expect(await scheduler.snapshot.failed == 2)
    }
  }
}
