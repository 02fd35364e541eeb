import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import Foundation
import Logging
import ServiceLifecycle

/// `edgeblue central`
struct CentralCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "central",
    abstract: "Find EdgeCoder phones and serve them to the programs on this machine.",
    discussion: """
      Serves http://127.0.0.1:11435 until Ctrl-C, to EdgeCoder, Ollama and OpenAI clients on this machine. The phones \
      are the model `edgecoder`. Only paired phones receive prompts, unless --access sets another mode; \
      `edgeblue pair with ADDRESS` pairs with one while its pairing window is open. The reply of a phone with the v2 mux streams as it is generated; the reply of another \
      phone arrives when it is complete.

      With --engine it also has a model server, for as long as there is a default route. Without one, every prompt goes \
      to a phone, including prompts under way that have no reply yet. --prefer selects the route of prompts while there \
      is a default route:

        auto       the model server, or a phone if the server fails
        network    only the model server
        bluetooth  only phones: no prompt leaves over the network

      `curl http://127.0.0.1:11435/status` shows the route. A server on this machine counts as the network. With --engine \
      the central also starts without Bluetooth, and uses phones from the moment when there is an adapter.

      EXAMPLES
        edgeblue central
        edgeblue central --adapter hci1 --port 8000 --max-phones 2
        edgeblue central --engine ollama --engine-url https://studio.local
        curl http://127.0.0.1:11435/status
        curl http://127.0.0.1:11435/api/generate -d '{"prompt": "Why is the sky blue?"}'
        curl -N http://127.0.0.1:11435/api/generate -d '{"prompt": "Why is the sky blue?", "stream": true}'
        OPENAI_BASE_URL=http://127.0.0.1:11435/v1 your-program
      """)

  @OptionGroup var adapter: AdapterOptions
  @Option(help: "The port on 127.0.0.1, 0 to 65535; 0 selects a free port.") var port = 11435
  @Option(help: ArgumentHelp("The limit of connected phones, 1 to 16.", valueName: "number")) var maxPhones = 5
  @Option(
    name: .customLong("origin"), parsing: .singleValue,
    help: ArgumentHelp(
      "A web page that may use the server, such as https://chat.example.org; may be repeated. Pages of this machine may.",
      valueName: "origin"))
  var origins: [String] = []
  @Option(
    help: ArgumentHelp(
      "The context of the model that Ollama clients are told, 256 to 16777216 tokens; phones do not report theirs.",
      valueName: "tokens"))
  var context = HTTPAPI.Configuration().contextLength
  @OptionGroup var choice: PhoneChoiceOptions
  @OptionGroup var route: RouteOptions
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--port", port, 0...65535)
    try checkRange(of: "--max-phones", maxPhones, 1...16)
    try checkRange(of: "--context", context, 256...16_777_216)
    for origin in origins where !Self.isOrigin(origin) {
      throw ValidationError("--origin \(origin): use the form https://host or https://host:port, without a path.")
    }
  }

  /// Returns `true` for a scheme and a host, as browsers send them.
  private static func isOrigin(_ text: String) -> Bool {
    guard let url = URL(string: text), let scheme = url.scheme, let host = url.host(), !host.isEmpty else {
      return false
    }
    return text == "\(scheme)://\(host)" + (url.port.map { ":\($0)" } ?? "") && text == text.lowercased()
  }

  func run() async throws {
    try await common.run { terminal in
      try insecure.check(["--engine-url": route.server.url], terminal)
      let phones = LatePhones { try await makeCentral(terminal) }
      // Without a model server nothing answers before there is an adapter.
      if route.engine == nil { try await phones.open() }
      let routes = try await route.routes(to: phones)
      let diary = CentralDiary(terminal: terminal)
      let work = Role {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await Self.run(phones, diary) }
          if let routes { group.addTask { await routes.report(terminal) } }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
      var served = HTTPAPI.Configuration(port: port)
      served.origins = Set(origins)
      served.contextLength = context
      let api = HTTPAPI(
        service: routes?.service ?? phones, configuration: served, logger: Logger(label: "edgeblue.http")
      ) { port in
        terminal.happened(
          "serving http://127.0.0.1:\(port) (model: \(HTTPAPI.modelName))", "serving", ["port": .number(port)])
      }
      // Services stop in reverse order: first no new prompts, then no phones.
      try await runUntilStopped([work, api])
      diary.conclude(await phones.counters(), server: routes?.service.counters())
    }
  }

  /// Opens the adapter, and says so.
  private func makeCentral(_ terminal: Terminal) async throws -> Central {
    let radio = try await Radio.open(adapter, terminal)
    let central = try PhoneFinder.makeCentral(on: radio, choice, phones: maxPhones)
    terminal.say("EdgeBlue central on \(radio.title). Ctrl-C stops it.")
    let policy = choice.access.policy(isVirtual: radio.isVirtual)
    terminal.happened(
      choice.access.words(for: policy, isVirtual: radio.isVirtual), "access", ["mode": .string(policy.mode.rawValue)])
    return central
  }

  private static func run(_ phones: LatePhones, _ diary: CentralDiary) async throws {
    try await phones.run { reason in
      diary.report(absence: reason)
    } _: { central in
      await withTaskGroup(of: Void.self) { group in
        let events = await central.events()
        group.addTask { await central.run() }
        group.addTask { await diary.follow(events) }
        await group.next()
        group.cancelAll()
      }
    }
  }
}
