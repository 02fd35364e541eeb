import ArgumentParser
import EdgeCoder
import Foundation
import ServiceLifecycle
import SystemState

/// `edgeblue phone`
struct PhoneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "phone",
    abstract: "Answer prompts over Bluetooth LE, as an EdgeCoder phone does.",
    discussion: """
      Advertises the EdgeCoder service until Ctrl-C. An API key for the engine is read from EDGEBLUE_API_KEY.

      Only centrals that have paired with this machine may ask, unless --access says otherwise; `edgeblue pair` lets \
      them pair. One central may ask \(PhoneConfiguration().requestsPerMinute) times a minute.

      EXAMPLES
        edgeblue phone                                   try it out: the echo engine repeats each prompt
        edgeblue phone --engine ollama --model llama3.2
        edgeblue phone --engine openai --engine-url http://127.0.0.1:8080 --adapter hci1 --name Workshop
        edgeblue phone --access authenticated --allow 00:AA:01:00:00:42
        edgeblue phone --link auto                       replies stream, token by token
      """)

  @OptionGroup var engine: EngineOptions
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var access: AccessOptions
  @Option(
    help: ArgumentHelp("The name to show, at most 26 bytes. Without it EdgeCoder- and this machine's name.")) var name:
    String?
  @Option(help: ArgumentHelp("The pause between the chunks of a reply, 0 to 1000 ms.", valueName: "ms"))
  var paceMs = 10
  @Option(help: ArgumentHelp("The most bytes of a reply; text beyond is cut off.", valueName: "bytes"))
  var maxOutput = Wire.messageLimit
  @Option(
    help: ArgumentHelp(
      """
      Offer a v2 link too, by which replies come as they are made, several at a time, and faster: over l2cap, over \
      gatt, over what there is (auto), or off. A central takes L2CAP before GATT.
      """, valueName: "bearer"))
  var link = LinkOption.off
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (0...1000).contains(paceMs) else { throw ValidationError("--pace-ms is 0 to 1000.") }
    guard (1024...Wire.messageLimit).contains(maxOutput) else {
      throw ValidationError("--max-output is 1024 to \(Wire.messageLimit) bytes.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      let engine = try self.engine.makeEngine()
      let radio = try await Radio.open(adapter, terminal)
      let shown = name ?? "EdgeCoder-\(ProcessInfo.processInfo.hostName.prefix(16))"
      let isVirtual = VirtualController.isVirtual(radio.name)
      let policy = access.policy(isVirtual: isVirtual)
      let power = try await PowerMonitor.start()
      let transport = try await BlueZPhoneTransport.start(
        on: radio.adapter, name: shown, access: policy, links: link.bearers)
      var configuration = PhoneConfiguration()
      configuration.chunkInterval = .milliseconds(paceMs)
      configuration.replyLimit = maxOutput
      let phone = PhoneService(
        transport: transport, engine: engine, configuration: configuration,
        battery: { power.telemetry.batteryLevelPct })
      terminal.say("EdgeBlue phone “\(shown)” on \(radio.title). Engine: \(self.engine.title). Ctrl-C ends it.")
      if self.engine.engine == .echo {
        terminal.say("The echo engine only repeats prompts; --engine ollama or openai answers them.")
      }
      terminal.happened(
        access.words(for: policy, isVirtual: isVirtual), "access",
        [
          "mode": .string(policy.mode.rawValue),
          "allowed": policy.allowed.map { .list($0.map(\.description).sorted().map(JSON.string)) } ?? .null,
        ])
      if link != .off {
        let bearers = transport.linkBearers.map(\.rawValue).sorted()
        terminal.happened(
          "v2 link offered over \(bearers.joined(separator: " and "))", "link",
          ["bearers": .list(bearers.map(JSON.string))])
      }
      let diary = PhoneDiary(terminal: terminal)
      let work = Role {
        await withTaskGroup(of: Void.self) { group in
          group.addTask { await phone.run() }
          group.addTask { await diary.follow(phone) }
          await group.next()
          group.cancelAll()
        }
      } cleanUp: {
        try await transport.stop()
      }
      try await runUntilStopped([work])
      diary.conclude(await phone.snapshot().counters)
    }
  }
}

/// Over what a phone offers v2 links.
enum LinkOption: String, ExpressibleByArgument, CaseIterable {
  case auto, l2cap, gatt, off

  var bearers: Set<LinkBearer> {
    switch self {
    case .auto: Set(LinkBearer.allCases)
    case .l2cap: [.l2cap]
    case .gatt: [.gatt]
    case .off: []
    }
  }
}
