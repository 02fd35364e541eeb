import ArgumentParser
import EdgeCoderHTTP
import Logging
import ServiceLifecycle

/// `edgeblue central`
struct CentralCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "central",
    abstract: "Find EdgeCoder phones and offer them to the programs on this machine.",
    discussion: """
      Serves http://127.0.0.1:11435 until Ctrl-C, for EdgeCoder's own clients and for Ollama and OpenAI clients. The \
      phones are the model `edgecoder`. Only this machine can reach it. The replies of phones with a v2 link stream as \
      they are made; those of others come whole.

      With --engine it also has a model server, for as long as there is a way out to the network; without one, every \
      prompt goes to a phone, also one that is on its way and has no answer yet. --prefer says where prompts go while \
      there is a way out:

        auto       to the model server, or to a phone when that fails
        network    to the model server, and nowhere else
        bluetooth  to a phone, always: no prompt leaves over the network

      `curl http://127.0.0.1:11435/status` shows the route. A server on this machine counts as the network, too.

      EXAMPLES
        edgeblue central
        edgeblue central --adapter hci1 --port 8000 --max-phones 2
        edgeblue central --engine ollama --engine-url http://studio.local:11434
        curl http://127.0.0.1:11435/status
        curl http://127.0.0.1:11435/api/generate -d '{"prompt": "Why is the sky blue?"}'
        curl -N http://127.0.0.1:11435/api/generate -d '{"prompt": "Why is the sky blue?", "stream": true}'
        OPENAI_BASE_URL=http://127.0.0.1:11435/v1 your-program
      """)

  @OptionGroup var adapter: AdapterOptions
  @Option(help: "The port on 127.0.0.1; 0 takes a free one.") var port = 11435
  @Option(help: ArgumentHelp("The most phones to keep a link to, 1 to 16.", valueName: "number")) var maxPhones = 5
  @OptionGroup var route: RouteOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (0...65535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
    guard (1...16).contains(maxPhones) else { throw ValidationError("--max-phones is 1 to 16.") }
  }

  func run() async throws {
    try await common.run { terminal in
      let radio = try await Radio.open(adapter, terminal)
      let central = PhoneFinder.makeCentral(on: radio, phones: maxPhones)
      let routes = try await route.routes(to: central)
      terminal.say("EdgeBlue central on \(radio.title). Ctrl-C ends it.")
      let diary = CentralDiary(terminal: terminal)
      let work = Role {
        await withTaskGroup(of: Void.self) { group in
          let events = await central.events()
          group.addTask { await central.run() }
          group.addTask { await diary.follow(events) }
          if let routes { group.addTask { await routes.tell(terminal) } }
          await group.next()
          group.cancelAll()
        }
      }
      let api = HTTPAPI(
        service: routes?.service ?? central, configuration: .init(port: port), logger: Logger(label: "edgeblue.http")
      ) { port in
        terminal.happened(
          "serving http://127.0.0.1:\(port) (model: \(HTTPAPI.modelName))", "serving", ["port": .number(port)])
      }
      // Stopped in reverse: first no new prompts, then no phones.
      try await runUntilStopped([work, api])
      diary.conclude(await central.counters())
    }
  }
}
