import ArgumentParser
import EdgeCoder
import MessageSending
import ServiceLifecycle

/// `edgeblue messages relay`
struct MessagesRelayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay", abstract: "Take messages of senders near by over Bluetooth, and pass them on, until Ctrl-C.",
    discussion: """
      For senders without a network, which name this machine with `edgeblue messages run --relay ADDRESS`. What they \
      bring is on disk before they get an answer, and is sent to the server of `edgeblue messages setup` by a schedule \
      of this machine's own: --count messages in each run, whatever was brought. A relay can neither open messages nor \
      tell them from covers. It takes messages only of devices that its user has paired (`edgeblue pair`).
      """)

  @Option(
    help: ArgumentHelp("The messages in each run, 2 to 64: two for each sender, and two more.", valueName: "n"))
  var count = 8
  @Option(help: ArgumentHelp("The messages that may wait, 8 to 100000; further ones are refused.", valueName: "n"))
  var limit = 512
  @OptionGroup var relay: RelayOptions
  @OptionGroup var pace: PaceOptions
  @OptionGroup var metrics: MetricsOptions
  @OptionGroup var shared: SenderOptions

  func validate() throws {
    try checkRange(of: "--count", count, 2...64)
    try checkRange(of: "--limit", limit, 8...100_000)
  }

  func run() async throws {
    try await shared.run { terminal, folder in
      let settings = try folder.read()
      let covers = try folder.covers(settings)
      let queue = try RelayQueue(folder: folder.relayPath, limit: limit, covers: covers)
      let counts = OutcomeCounts()
      var options = pace.senderOptions
      options.policy.messagesPerRun = count
      options.prepare = try folder.preparation(settings)
      let sender = MessageSender(
        folder: folder.relayPath, queue, covers: covers, transport: try settings.transport(), options: options
      ) { outcome in
        counts.add(outcome)
        terminal.happened("sending: \(outcome.words)", "tick", ["outcome": .string(outcome.rawValue)])
      }
      let radio = try await Radio.open(relay.adapter, terminal)
      let policy = relay.access.policy(isVirtual: radio.isVirtual)
      let bonds = try relay.store()
      // A damaged list would admit nobody, without a reason that a user sees.
      if policy.mode != .open { _ = try bonds.bonds() }
      let control = AccessControl(
        radio.adapter, policy, bonds: policy.mode == .open ? nil : bonds, connections: { try $0.connections() })
      let listener = RelayListener(adapter: radio.adapter, relay: MessageRelay(queue), control: control) { answer in
        terminal.happened("took a packet: \(answer.words)", "taken", ["answer": .string(answer.words)])
      }
      let title = radio.title
      let taking = Role {
        try await listener.run(psm: relay.psm) {
          terminal.happened(
            "taking messages on \(title), access \(policy.mode.rawValue)", "listening",
            ["address": .string(radio.adapter.address.description), "psm": .number(Int(relay.psm))])
        }
      }
      let passing = Role { await sender.run() }
      try await runUntilStopped(([passing, taking] as [any Service]) + metrics.server(terminal) { counts.metrics })
    }
  }
}

extension RelayAnswer? {
  /// The answer as one word, for display.
  var words: String {
    switch self {
    case .stored?: "stored"
    case .refused?: "refused"
    case .malformed?: "malformed"
    case nil: "silent"
    }
  }
}
