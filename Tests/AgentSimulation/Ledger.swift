import Agent
import Foundation
import SystemState

/// What was acknowledged, and so must hold after a kill: the mode, the phase, the events, what is pending, the results.
final class Ledger: @unchecked Sendable {
  // Sound: there is one thread, see Executor.

  /// A task the agent was given.
  struct Claim {
    var life: Int
    var at: Duration
    /// Whether the agent may forget it, for it was killed before it could write, or the disk was full.
    var isExcused = false
  }

  /// A Boolean value that indicates whether the user chose On since the last check.
  var hasChosenOn = false
  private var record = ModeRecord()
  /// What may be on disk instead, for the agent said that the disk was full.
  private var perhaps: Set<ModeRecord> = []
  private var choice = LifecycleChoice.auto
  private var events = 0
  private var pending: (life: Int, identifiers: Set<String>)?
  private var claims: [String: Claim] = [:]
  /// Results of which the agent has just heard that they are there.
  private var heard: [String] = []
  /// When the last heartbeat was sent that was taken, and heard to be.
  private var heartbeat: Duration?
  private var sentAt: Duration = .zero
  /// The time that the engine took for each task that it answered.
  private var worked: [String: Duration] = [:]
  private(set) var restores = 0

  /// Records that the choice of the user is on disk.
  func chose(_ choice: LifecycleChoice) { self.choice = choice }

  /// What is pending at this moment, while nothing goes on.
  func isPending(_ identifiers: Set<String>, in life: Int) { pending = (life, identifiers) }

  /// Something has happened since that may have changed it.
  func pendingChanges() { pending = nil }

  /// A life begins: what was acknowledged in the one before is there.
  func begins(_ life: Life, _ choice: LifecycleChoice, _ tasks: [AgentTaskStatus]) {
    restores += 1
    let world = life.world
    let status = life.runner.status
    let restored = ModeRecord(mode: status.mode, cause: status.cause, runOnlyWhileCharging: status.runOnlyWhileCharging)
    if restored != record, !perhaps.contains(restored) { world.fault("restored \(restored), and was \(record)") }
    if choice != self.choice { world.fault("the phase is \(choice), and was \(self.choice)") }
    if life.log.count < events { world.fault("\(life.log.count) events, and were \(events)") }
    let there = Set(tasks.filter { $0.wait != nil }.map(\.identifier))
    if let pending, there != pending.identifiers {
      world.fault("pending are \(there.sorted()), and were \(pending.identifiers.sorted())")
    }
    pending = nil
    heartbeat = nil
    heard = []
  }

  /// A life is over, in whatever way.
  func ends(_ life: Life) {
    let world = life.world
    let status = life.runner.status
    keep(status)
    if life.log.problem == nil { events = life.log.count - life.log.unwritten }
    let kept = self.kept(in: world)
    for (id, claim) in claims where claim.life == life.number && !claim.isExcused {
      if kept.contains(id) || world.coordinator.accounts[id]?.result != nil { continue }
      // One that is worked on dies with the program.
      if life.isLeaving || world.now - claim.at > .seconds(62) { world.fault("the result of \(id) is lost") }
      claims[id]?.isExcused = true
    }
  }

  /// Records that the reported state is on disk.
  func keep(_ status: AgentStatus) {
    let said = ModeRecord(mode: status.mode, cause: status.cause, runOnlyWhileCharging: status.runOnlyWhileCharging)
    if status.storageProblem == nil {
      record = said
      perhaps = []
    } else {
      perhaps.insert(said)
    }
  }

  /// Nothing that was not written yet can be called to account.
  func diskIsFull() {
    for id in claims.keys { claims[id]?.isExcused = true }
  }

  /// A call goes out.
  /// - Returns: when that is.
  func asks(_ path: String, _ world: World) -> Duration {
    if world.life?.services.active != [.heartbeat] { world.fault("\(path) though On does not work") }
    let decision = AssignmentPolicy.flowChart(FlowChart()).decide(.init(power: world.weather.power))
    if path == "/pull", !decision.allowsCoordinatorTasks {
      world.fault("asks for work though power does not suffice")
    }
    if path == "/heartbeat" {
      if let heartbeat, world.now - heartbeat > world.longestPause {
        world.fault("a heartbeat \(world.now - heartbeat) after the last")
      }
      sentAt = world.now
      heartbeat = nil
    }
    return world.now
  }

  /// The engine has answered a task.
  func answered(_ task: String, after duration: Duration) { worked[task] = duration }

  /// A result goes out, whose figure is what the engine took.
  func sends(_ body: Data, _ world: World) {
    struct Result: Decodable {
      var subtaskId: String
      var ok: Bool
      var durationMs: Int64
    }
    guard let result = try? JSONDecoder().decode(Result.self, from: body), result.ok,
      let took = worked[result.subtaskId]
    else { return }
    let difference = Duration.milliseconds(result.durationMs) - took
    if difference > .milliseconds(1) || difference < .milliseconds(-1) {
      world.fault("\(result.subtaskId) took \(took), and its result says \(result.durationMs) ms")
    }
  }

  /// Records an answer that the agent receives.
  func hears(_ path: String, _ body: Data, _ answer: CoordinatorAnswer, _ world: World) {
    struct Result: Decodable { var subtaskId: String }
    if path != "/heartbeat" {
      world.tell("\(path) \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
    }
    // The machine registers first, and that may have to wait.
    if answer.status != 200 { heartbeat = nil }
    switch path {
    case "/heartbeat": if answer.status == 200, !world.coordinator.isBanned { heartbeat = sentAt }
    case "/pull":
      if let id = SimulatedCoordinator.task(in: answer) {
        claims[id] = Claim(life: world.life?.number ?? 0, at: world.now, isExcused: world.isDiskFull)
      }
    case "/result":
      guard let id = (try? JSONDecoder().decode(Result.self, from: body))?.subtaskId else { break }
      if answer.status == 200 || answer.status == 403 { heard.append(id) }
      // It is thrown away.
      if answer.status == 403 { claims[id]?.isExcused = true }
    default: break
    }
  }

  /// Nothing goes on: what the agent has heard it has written down.
  func rests(_ world: World) {
    for id in heard { world.coordinator.close(id) }
    heard = []
  }

  /// The service of On has stopped, or the machine has slept: the next heartbeat is a first one.
  func heartbeatsPause() { heartbeat = nil }

  /// How long ago a heartbeat was sent that was taken; `nil` when nothing can be said.
  func heartbeatAge(_ now: Duration) -> Duration? { heartbeat.map { now - $0 } }

  /// What the coordinator still has to get.
  func missing(in world: World) -> [String] {
    let kept = self.kept(in: world)
    return claims.keys.filter { id in
      (kept.contains(id) || !claims[id]!.isExcused) && world.coordinator.accounts[id]?.result == nil
    }.sorted()
  }

  /// The results on disk, by task.
  func kept(in world: World) -> Set<String> {
    struct File: Decodable {
      struct Result: Decodable { var subtaskId: String }
      var result: Result
    }
    let folder = URL(filePath: world.folder + "/results")
    let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return Set(
      files.filter { $0.pathExtension == "json" }.compactMap { file in
        guard let data = try? Data(contentsOf: file), let kept = try? JSONDecoder().decode(File.self, from: data) else {
          world.fault("\(file.lastPathComponent) is damaged")
          return nil
        }
        return kept.result.subtaskId
      })
  }
}
