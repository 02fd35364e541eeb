import ArgumentParser
import EdgeCoder
import JSONValues
import ServiceLifecycle
import SystemState

/// `edgeblue phone`
struct PhoneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "phone",
    abstract: "Answer prompts over Bluetooth LE, as an EdgeCoder phone.",
    discussion: """
      Advertises the EdgeCoder service until Ctrl-C. --engine-key-file names the API key of the engine.

      Only bonded centrals may send prompts, unless --access sets another mode; `edgeblue pair` lets them pair. Each \
      central may send \(PhoneConfiguration().rates.requestsPerMinute) prompts per minute.

      EXAMPLES
        edgeblue phone                                   with the echo engine
        edgeblue phone --engine ollama --model llama3.2
        edgeblue phone --engine openai --engine-url http://127.0.0.1:8080 --adapter hci1 --name Workshop
        edgeblue phone --access authenticated --allow 00:AA:01:00:00:42
        edgeblue phone --link auto                       replies stream
      """)

  @OptionGroup var options: PhoneOptions
  @OptionGroup var bonds: BondOptions
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      try insecure.check(["--engine-url": options.engine.server.url], terminal)
      let engine = try options.engine.makeEngine()
      let radio = try await Radio.open(options.adapter, terminal)
      let power = try await PowerMonitor.start()
      let (transport, phone) = try await options.start(
        on: radio, engine: engine, power: power, bonds: try bonds.store())
      terminal.say(
        "EdgeBlue phone “\(options.shownName)” on \(radio.title). Engine: \(options.engine.title). Ctrl-C stops it.")
      if options.engine.engine == .echo {
        terminal.say("The echo engine only repeats prompts; --engine ollama or openai answers them.")
      }
      let access = options.access
      let isVirtual = radio.isVirtual
      let policy = access.policy(isVirtual: isVirtual)
      terminal.happened(
        access.words(for: policy, isVirtual: isVirtual), "access",
        [
          "mode": .string(policy.mode.rawValue),
          "allowed": policy.allowed.map { .array($0.map(\.description).sorted().map(JSONValue.string)) } ?? .null,
        ])
      if options.link != .off {
        let bearers = transport.muxBearers.map(\.rawValue).sorted()
        terminal.happened(
          "v2 mux available over \(bearers.joined(separator: " and "))", "link",
          ["bearers": .array(bearers.map(JSONValue.string))])
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
