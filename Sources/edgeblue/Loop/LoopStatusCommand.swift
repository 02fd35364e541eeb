import ArgumentParser
import JSONValues
import SpeedTest
import Streams
import Timing

/// `edgeblue loop status`
struct LoopStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print the state of the loop: minutes and metres left (the default).")

  @Flag(help: "Continue, and print every change, until Ctrl-C or the end of the loop.") var watch = false
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  /// The interval at which the time that is left is written anew on a terminal.
  private static let tick = Duration.seconds(1)
  /// The time after which a second look follows a change: when a process ends, the kernel reports that its files are
  /// closed an instant before it releases their locks.
  private static let settling = Duration.milliseconds(100)

  func run() async throws {
    try await common.run { terminal in
      let folder = try state.folder()
      guard let first = try LoopStatus.read(folder) else {
        throw Failure("there is no loop", hint: "`edgeblue loop start` starts one", status: .unavailable)
      }
      guard watch else { return terminal.print(first) }
      do {
        try await untilInterrupted { try await Self.follow(folder, terminal) }
      } catch is CancellationError {
        // Ctrl-C ends --watch.
      }
    }
  }

  private enum Look: Sendable {
    /// The files of the loop may have changed.
    case change
    /// A second has passed, and nothing else.
    case tick
  }

  /// Shows the loop until it is over, or its folder has gone.
  private static func follow(_ folder: SpeedTestFolder, _ terminal: Terminal) async throws {
    // Before the first look, so that no change is missed.
    let watch = try folder.watchLoop(isLive: true)
    let (looks, source) = BoundedStream.make(of: Look.self, limit: 8, policy: .dropOldest)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { source.finish() }
        for await _ in watch.changes {
          source.yield(.change)
          try await Task.sleep(for: settling, clock: .steady)
          source.yield(.change)
        }
      }
      if terminal.isLive {
        group.addTask {
          while true {
            try await Task.sleep(for: tick, clock: .steady)
            source.yield(.tick)
          }
        }
      }
      defer { group.cancelAll() }
      try await show(looks, folder, terminal)
    }
  }

  private static func show(
    _ looks: BoundedStream<Look>, _ folder: SpeedTestFolder, _ terminal: Terminal
  ) async throws {
    guard var status = try LoopStatus.read(folder) else { return }
    var screen = LiveScreen()
    var shown: [String]?
    var next = looks.makeAsyncIterator()
    while true {
      if terminal.isLive {
        Output.write(screen.frame(status.lines))
      } else if status.steadyLines != shown {
        shown = status.steadyLines
        terminal.print(status)
        terminal.say()
      }
      guard status.state.ending == nil, let look = await next.next() else { return }
      switch look {
      case .tick: status.now = .system()
      case .change:
        guard let changed = try LoopStatus.read(folder) else { return }
        status = changed
      }
    }
  }
}

/// The state of a loop at an instant, for display.
struct LoopStatus: Report {
  let state: LoopState
  let settings: LoopSettings
  /// The live values of the process that runs the loop; `nil` if none does.
  let live: LoopLive?
  var now: LoopInstant

  static func read(_ folder: SpeedTestFolder) throws -> LoopStatus? {
    guard let contents = try folder.loop.load() else { return nil }
    return LoopStatus(
      state: contents.state, settings: contents.settings, live: try LoopLive.read(folder), now: .system())
  }

  /// The milliseconds until the next test is due by time; `nil` if that is not what the loop waits for.
  private var left: Int64? {
    guard case .waiting = state.phase else { return nil }
    return LoopMachine(state).wait(at: now)
  }

  private var metresLeft: Double? {
    guard case .waiting(_, isRetry: false) = state.phase, let movement = state.plan.movement, let moved = live?.moved
    else { return nil }
    return max(movement - moved, 0)
  }

  // MARK: Text

  var lines: [String] { rows.map { $0.0.padded(to: 11) + $0.1 } }

  /// The lines without those that change with every second.
  var steadyLines: [String] { rows.filter { !["Next", "End"].contains($0.0) }.map { $0.0 + $0.1 } }

  private var rows: [(String, String)] {
    var rows = [
      (
        "Loop", "\(state.counter) of \(state.plan.tests) tests have begun, since \(Terminal.clock(atMs: state.startMs))"
      ),
      ("Plan", state.plan.words), ("Server", settings.test.server), ("State", phase),
    ]
    if let next { rows.append(("Next", next)) }
    if let estimate = state.estimate(at: now) {
      rows.append(("End", "in about \(Self.words(estimate)), if somebody is there whenever a test is due"))
    }
    if let live {
      if live.isAgent == true { rows.append(("Program", "the agent")) }
      if let location = live.location {
        let isByTime = live.locationError != nil && state.plan.movement != nil
        rows.append(("Location", location + (isByTime ? "; until then tests begin by time alone" : "")))
      }
      rows.append(("Awake", live.awake))
      if let problem = live.problem { rows.append(("Problem", problem)) }
    } else if state.ending == nil {
      rows.append(("Program", "none runs the loop; `edgeblue loop start` continues it"))
    }
    if let last = state.history.last(where: { $0.outcome != nil }), let outcome = last.outcome {
      rows.append(("Last", "test \(last.number): \(outcome.words)"))
    }
    return rows.map { ($0.0, $0.1.printable) }
  }

  private var phase: String {
    switch state.phase {
    case .waiting(_, let isRetry): isRetry ? "waiting to repeat a test" : "waiting for the next test"
    case .ready(let trigger): "a test is due, and waits for somebody: \(trigger.words)"
    case .testing: "test \(state.counter) of \(state.plan.tests) runs"
    case .aborting: "test \(state.counter) of \(state.plan.tests) is being cancelled"
    case .finished(let ending): ending.rawValue
    }
  }

  private var next: String? {
    guard let left else { return nil }
    let time = "in \(Amounts.clock((Double(left) / 1000).rounded(.up)))"
    guard case .waiting(_, isRetry: false) = state.phase, let movement = state.plan.movement else { return time }
    return time
      + (metresLeft.map { ", or after \(Amounts.fixed($0, 1)) m" }
        ?? ", or \(Amounts.fixed(movement, 0)) m from the place of the last test")
  }

  /// A duration in the two largest units.
  static func words(_ duration: Duration) -> String {
    let minutes = Int((duration.inSeconds / 60).rounded())
    switch minutes {
    case ..<60: return "\(max(minutes, 1)) min"
    case ..<2880: return "\(minutes / 60) h \(minutes % 60) min"
    default: return "\(minutes / 1440) days \(minutes / 60 % 24) h"
    }
  }

  // MARK: JSON

  var json: [String: JSONValue] {
    [
      "loop": .string(state.id.uuidString), "begun": .number(state.counter), "tests": .number(state.plan.tests),
      "startMs": .number(Int(state.startMs)), "server": .string(settings.test.server),
      "state": .string(state.phaseName),
      "delayMs": .number(Int(state.plan.delay.milliseconds(rounded: .up))),
      "movementM": JSONValue(state.plan.movement), "leftMs": JSONValue(left.map(Int.init)),
      "movedM": JSONValue(live?.moved), "leftM": JSONValue(metresLeft),
      "estimateMs": JSONValue(state.estimate(at: now).map { Int($0.milliseconds(rounded: .toNearest)) }),
      "isRunning": .bool(live != nil), "isAgent": .bool(live?.isAgent == true),
      "location": JSONValue(live?.location), "locationError": JSONValue(live?.locationError),
      "awake": JSONValue(live?.awake),
      "problem": JSONValue(live?.problem), "last": state.history.last.map { .object($0.json) } ?? .null,
    ]
  }
}

extension LoopState {
  /// The name of the phase, for programs.
  var phaseName: String {
    switch phase {
    case .waiting(_, let isRetry): isRetry ? "waitingToRepeat" : "waiting"
    case .ready: "ready"
    case .testing: "testing"
    case .aborting: "aborting"
    case .finished(let ending): ending.rawValue
    }
  }
}
