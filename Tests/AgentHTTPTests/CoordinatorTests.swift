import Agent
import DeterministicTesting
import Foundation
import Logging
import SystemState
import Testing
import Timing

@testable import AgentHTTP

@Suite("The agent at a coordinator, over HTTP", .timeLimit(.minutes(5)))
struct CoordinatorTests {
  @Test("The agent registers once and the coordinator accepts its heartbeats")
  func itRegistersOnceAndItsHeartbeatIsTaken() async throws {
    let folder = try Folder()
    let state = try StateFolder(path: folder.path)
    defer { withExtendedLifetime(folder) {} }
    let token = Registry(meshToken: "mesh-secret")
    try await TestCoordinator.run(registry: token) { coordinator in
      for _ in 0..<3 {
        let start = Int64(Date().timeIntervalSince1970 * 1000)
        try await Self.takingPart(at: coordinator.address, state) { runner in
          for await status in runner.statuses where (status.lastHeartbeatAtMs ?? 0) > start { break }
        }
      }
      let seen = coordinator.registry.seen
      #expect(coordinator.registry.faults == [])
      // After a restart it does not register again.
      #expect(seen.map(\.path).filter { $0 == "/register" }.count == 1)
      #expect(seen.first?.path == "/register")
      let heartbeats = seen.filter { $0.path == "/heartbeat" }
      #expect(heartbeats.count >= 3)
      #expect(heartbeats.allSatisfy { $0.status == 200 })
      // Nor does it sign at once: it does not know how often it has.
      #expect(heartbeats.first?.isSigned == true)
      #expect(heartbeats.last?.isSigned == false)
      #expect(seen.allSatisfy { $0.text("agentId") == seen[0].text("agentId") })
    }
    #expect(
      try folder.rights() == ["coordinator.json": 0o600, "identity.json": 0o600, "lock": 0o600, "results": 0o700])
  }

  @Test("The agent registers again at a coordinator that forgot it") func aCoordinatorThatForgetsIsToldAgain()
    async throws
  {
    let folder = try Folder()
    let state = try StateFolder(path: folder.path)
    defer { withExtendedLifetime(folder) {} }
    try await TestCoordinator.run(registry: Registry(meshToken: nil)) { coordinator in
      try await Self.takingPart(at: coordinator.address, state) { _ in
        await coordinator.registry.until { seen in seen.contains { $0.path == "/heartbeat" } }
      }
      coordinator.registry.forget()
      coordinator.misbehave(
        "/heartbeat", .answers(401, #"{"error":"mesh_unauthorized","reason":"agent_not_registered"}"#))
      // There are 15 s between two registrations, at least.
      try await Self.takingPart(at: coordinator.address, state, time: TimeSource(HurriedClock())) { _ in
        await coordinator.registry.until { seen in seen.filter { $0.path == "/register" }.count == 2 }
        await coordinator.registry.until { seen in
          seen.last?.path == "/heartbeat" && seen.last?.status == 200 && seen.last?.text("activeModel") == "tiny"
            && seen.last?.json["activeModelParamSize"] as? Double == 1.5
        }
      }
      #expect(coordinator.registry.faults == [])
    }
  }

  @Test("A refused agent reports the reason") func whoIsNotWantedSaysWhy() async throws {
    let folder = try Folder()
    let state = try StateFolder(path: folder.path)
    defer { withExtendedLifetime(folder) {} }
    try await TestCoordinator.run { coordinator in
      coordinator.misbehave("/register", .answers(403, #"{"error":"node_not_activated","reason":"email_unverified"}"#))
      let error = await #expect(throws: AgentError.self) {
        try await Self.takingPart(at: coordinator.address, state) { _ in
          try await Task.sleep(for: .seconds(60), clock: .steady)
        }
      }
      #expect(error?.code == .refused)
      #expect(error?.message.contains("node_not_activated (email_unverified)") == true)
      #expect(coordinator.registry.seen.map(\.path) == ["/register"])
    }
  }

  /// The coordinator fails, then the answer to the result breaks off on its way, then it gets through. A response that a
  /// busy machine brings late is no further failure: no time passes here but what the test lets pass.
  @Test("A task gets exactly one result, whatever happens in between") func aTaskIsAnsweredOnceWhateverComesInBetween()
    async throws
  {
    let clock = ManualClock()
    let folder = try Folder()
    let state = try StateFolder(path: folder.path)
    defer { withExtendedLifetime(folder) {} }
    try await TestCoordinator.run { coordinator in
      let registry = coordinator.registry
      registry.offer(
        #"{"id":"s1","taskId":"T","kind":"single_step","language":"python","input":"Say it.","timeoutMs":60000}"#)
      coordinator.misbehave("/pull", .answers(500, "no"))
      coordinator.misbehave("/result", .answers(503, "<html>"))
      coordinator.misbehave("/result", .breaksOff)
      try await Self.takingPart(at: coordinator.address, state, isOnBattery: true, time: TimeSource(clock)) { runner in
        // After the request for work that failed, and after each of the two attempts to send the result. On battery no
        // other request for work is due before the last of them.
        for instant: Duration in [.milliseconds(750), .milliseconds(1500), .seconds(3)] {
          await clock.advance(toSleeperAt: instant)
        }
        for await status in runner.statuses where status.jobsDone == 1 && status.resultsWaiting == 0 { break }
      }
      let results = registry.seen.filter { $0.path == "/result" }
      // What is sent again is the same, byte for byte, so that the coordinator can tell that it is.
      #expect(results.map(\.status) == [503, 200, 200])
      #expect(Set(results.map(\.body)).count == 1)
      #expect(Set(results.map(\.idempotencyKey)).count == 1)
      #expect(results[0].idempotencyKey?.wholeMatch(of: /"[0-9a-f]{32}"/) != nil)
      #expect(registry.seen.allSatisfy { ($0.idempotencyKey != nil) == ($0.path == "/result") })
      #expect(results[0].text("output") == "It was said: Say it.")
      #expect(results[0].json["ok"] as? Bool == true)
      #expect(registry.faults == [])
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/results") == [])
  }

  /// A task that is under way when the agent is to stop is given back, before it stops: that has a second, which does not
  /// pass here.
  @Test("A stop returns the task with a failure") func whoStopsGivesBackWhatItHas() async throws {
    let clock = ManualClock()
    let folder = try Folder()
    let state = try StateFolder(path: folder.path)
    defer { withExtendedLifetime(folder) {} }
    try await TestCoordinator.run { coordinator in
      coordinator.registry.offer(#"{"id":"s1","taskId":"T","input":"wait","timeoutMs":60000}"#)
      try await Self.takingPart(at: coordinator.address, state, time: TimeSource(clock)) { runner in
        for await status in runner.statuses where status.isWorking { break }
        clock.advance(by: .seconds(1))
      }
      let result = try #require(coordinator.registry.seen.last { $0.path == "/result" })
      #expect(result.isSigned)
      #expect(result.json["durationMs"] as? Int == 1000)
      #expect(result.json["ok"] as? Bool == false)
      #expect(result.text("error") == "this machine has stopped working")
      #expect(coordinator.registry.faults == [])
    }
  }

  /// Runs an agent's coordinator part until the body has ended.
  static func takingPart(
    at address: String, _ state: StateFolder, certificates: String? = nil, isOnBattery: Bool = false,
    time: TimeSource = .continuous, _ body: @escaping @Sendable (CoordinatorRunner) async throws -> Void
  ) async throws {
    let identity = try MachineIdentity.load(path: state.identity, hostName: "Test Board (4)")
    var options = CoordinatorRunner.Options()
    options.time = time
    options.model = { CoordinatorModel(isReady: true, name: "tiny", billionsOfParameters: 1.5) }
    options.answer = { task in
      if task.input == "wait" { try await Task.sleep(for: .seconds(60), clock: .steady) }
      return "It was said: \(task.input)"
    }
    options.power = {
      PowerTelemetry(
        onExternalPower: !isOnBattery, batteryLevelPct: isOnBattery ? 80 : -1, lowPowerMode: false,
        updatedAtMs: 1_700_000_000_000)
    }
    // The shortest delays.
    options.random = { 0 }
    let runner = try CoordinatorRunner(
      transport: try HTTPTransport(url: address, certificates: certificates), signer: try Ed25519Signer(identity),
      identity: identity, folder: state, log: EventLog(path: nil), options: options)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await runner.run {} }
      group.addTask { try await body(runner) }
      defer { group.cancelAll() }
      try await group.next()
      group.cancelAll()
      do { try await group.waitForAll() } catch is CancellationError {
        // That is how it ends.
      }
    }
  }
}

/// A clock that is five times as fast as the others.
private struct HurriedClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private let clock = ContinuousClock()
  private let start = ContinuousClock.now

  var now: Instant { Instant(offset: start.duration(to: clock.now) * 5) }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await Task.sleep(for: now.duration(to: deadline) / 5, clock: .steady)
  }
}

/// A state folder of a test's own.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "edgeblue-swarm-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    // A left-over folder in the temporary directory harms nobody.
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Who may do what with each file.
  func rights() throws -> [String: Int] {
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    return try Dictionary(
      uniqueKeysWithValues: names.map {
        ($0, try FileManager.default.attributesOfItem(atPath: path + "/" + $0)[.posixPermissions] as? Int ?? -1)
      })
  }
}
