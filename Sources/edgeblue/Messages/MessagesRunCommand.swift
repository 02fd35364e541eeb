import Agent
import ArgumentParser
import Logging
import MessageSending
import ServiceLifecycle
import Streams
import Timing

/// `edgeblue messages run`
struct MessagesRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Send messages and covers by the schedule until Ctrl-C.",
    discussion: """
      Sends two messages an hour, whatever the queue contains, at random instants. It needs no passphrase and cannot \
      tell messages from covers. With --once it does what is due and ends, for a timer that starts it every few minutes.
      """)

  @Flag(help: "Do what is due now, and end.") var once = false
  @Option(help: ArgumentHelp("The factor by which all clocks are faster, for tests.", visibility: .hidden)) var pace = 1
  @OptionGroup var metrics: MetricsOptions
  @OptionGroup var folder: MessagesFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (1...1_000_000).contains(pace) else { throw ValidationError("--pace: allowed are 1 to 1000000.") }
  }

  func run() async throws {
    try await common.run { terminal in
      try ProcessSecrets.forbidCoreDumps()
      let folder = try folder.folder()
      let settings = try folder.read()
      let covers = try settings.covers()
      let source = VaultedQueue(try folder.queue(covers), Vault(path: folder.vaultPath))
      let counts = OutcomeCounts()
      let sender = MessageSender(
        folder: folder.path, source, covers: covers, transport: try settings.transport(), options: options
      ) { outcome in
        counts.add(outcome)
        terminal.happened("sending: \(outcome.words)", "tick", ["outcome": .string(outcome.rawValue)])
      }
      guard !once else {
        _ = try await untilInterrupted { try await sender.runIfDue() }
        return
      }
      terminal.say("Sending to \(settings.server). Ctrl-C stops it.")
      try await runUntilStopped([Role { await sender.run() }] + metrics.server(terminal) { counts.metrics })
    }
  }

  private var options: MessageSender.Options {
    var options = MessageSender.Options()
    if pace > 1 {
      options.clock = SendingClock(time: TimeSource(PacedClock(pace: pace)), wall: PacedClock.wall(pace: pace))
      options.attemptLimit = options.attemptLimit * pace
    }
    return options
  }
}

/// The numbers of ticks by their outcome, which are the same whatever the queue contains.
struct OutcomeCounts: Sendable {
  private let counts = Lock<[SendingOutcome: Int]>([:])

  func add(_ outcome: SendingOutcome) { counts.withLock { $0[outcome, default: 0] += 1 } }

  var metrics: [Metric] {
    let counts = counts.withLock { $0 }
    return [
      Metric(
        "edgeblue_messages_ticks_total", .counter, "Ticks of the sending schedule, by outcome.",
        SendingOutcome.allCases.map { .init(Double(counts[$0] ?? 0), ["outcome": $0.rawValue]) })
    ]
  }
}

extension SendingOutcome {
  /// The outcome as words, for display.
  var words: String {
    switch self {
    case .done: "done"
    case .skipped: "skipped, the last run is less than an hour ago"
    case .failed: "failed, the remainder is retried later"
    case .withoutCovers: "nothing sent, the recipients' keys are not valid"
    case .notStored: "stopped, the state could not be written"
    case .cancelled: "stopped"
    case .busy: "another program is sending"
    }
  }
}

/// A clock that runs faster than the system's, for tests of the program.
struct PacedClock: Clock {
  let pace: Int

  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private static let origin = ContinuousClock.now

  var now: Instant { Instant(offset: Self.origin.duration(to: .now) * pace) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await SteadyClock().sleep(until: Self.origin + deadline.offset / pace, tolerance: tolerance)
  }

  /// Returns a wall clock that runs at this pace from 2026 on.
  static func wall(pace: Int) -> @Sendable () -> Int64 {
    let origin: Int64 = 1_767_225_600_000
    return { origin + (WallClock.unixMilliseconds() - origin) * Int64(pace) }
  }
}
