import Agent
import ArgumentParser
import BlueZ
import EdgeCoder
import Logging
import MessageSending
import ServiceLifecycle
import Streams
import SystemState

/// `edgeblue messages run`
struct MessagesRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Send messages and covers by the schedule until Ctrl-C.",
    discussion: """
      Sends two messages at random instants, 69 minutes apart on average, whatever the queue contains. It needs no passphrase and cannot \
      tell messages from covers. With --once it does what is due and ends, for a timer that starts it every few minutes.

      With --relay it hands the messages to a relay near by (`edgeblue messages relay`) over Bluetooth, by the same \
      schedule and with the same count, and needs no network. `edgeblue pair with ADDRESS` pairs with the relay.
      """)

  @Flag(help: "Do what is due now, and end.") var once = false
  @Option(
    help: ArgumentHelp(
      "With --once, wait for what is due within this time, 0 to 3600 s. A timer that starts it again before sends at the "
        + "instants of a sender that stays.", valueName: "seconds"))
  var within = 0
  @Option(
    help: ArgumentHelp("The Bluetooth address of a relay that passes the messages on.", valueName: "address"),
    completion: .devices,
    transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var relay: BluetoothAddress?
  @OptionGroup(title: "Relay options") var link: RelayOptions
  @OptionGroup var pace: PaceOptions
  @OptionGroup var metrics: MetricsOptions
  @OptionGroup var shared: SenderOptions

  func validate() throws {
    try checkRange(of: "--within", within, 0...3600, unit: "s")
    guard !once || metrics.metricsPort == nil else {
      throw ValidationError("--metrics-port: --once ends before anybody asks for metrics.")
    }
    guard once || within == 0 else { throw ValidationError("--within requires --once.") }
  }

  func run() async throws {
    try await shared.run { terminal, folder in
      let settings = try folder.read()
      let covers = try folder.covers(settings)
      let source = VaultedQueue(try folder.queue(covers), folder.vault)
      let counts = OutcomeCounts()
      var options = pace.senderOptions
      // A machine that needs a relay has no network to fetch keys from.
      if relay == nil { options.prepare = try folder.preparation(settings) }
      let dialer = try await dialer(terminal)
      let sender = MessageSender(
        folder: folder.path, source, covers: covers, transport: try dialer?.transport ?? settings.transport(),
        options: options
      ) { outcome in
        counts.add(outcome)
        terminal.happened("sending: \(outcome.words)", "tick", ["outcome": .string(outcome.rawValue)])
      }
      let bondGuard = dialer?.bondGuard()
      let guarding = Task { if let bondGuard { await bondGuard.run() } }
      defer { guarding.cancel() }
      guard !once else {
        _ = try await untilInterrupted { try await sender.runIfDue(within: .seconds(within)) }
        return
      }
      terminal.say("Sending to \(relay.map { "the relay \($0)" } ?? settings.server). Ctrl-C stops it.")
      let lifecycle = try await LifecycleMonitor.start()
      defer { lifecycle.close() }
      var activity = BackgroundActivity.Options()
      activity.why = "messages are being sent"
      let delaying = BackgroundActivity(activity)
      let role = Role { await sender.run(following: lifecycle.updates(), delayingSleep: delaying) }
      try await runUntilStopped([role] + metrics.server(terminal) { counts.metrics })
    }
  }

  /// Returns the sender's end of the relay; `nil` if none is named.
  private func dialer(_ terminal: Terminal) async throws -> RelayDialer? {
    guard let relay else { return nil }
    let radio = try await Radio.open(link.adapter, terminal)
    let bonds = try link.store()
    let policy = link.access.policy(isVirtual: radio.isVirtual)
    if policy.mode != .open { _ = try bonds.bonds() }
    return RelayDialer(
      adapter: radio.adapter, relay: relay, psm: link.psm, policy: policy, bonds: bonds,
      connections: { try $0.connections() })
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
