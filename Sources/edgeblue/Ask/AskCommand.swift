import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import Foundation
import JSONValues
import Streams

/// `edgeblue ask`
struct AskCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask",
    abstract: "Send one prompt to a phone and print the reply.",
    discussion: """
      Sends the prompt through the central that runs on this machine or, if there is none, directly over the air. Over \
      the air only paired phones receive it, unless --access sets another mode. Only the reply is printed to standard output. In a terminal, the reply of a phone with the v2 mux streams; otherwise \
      the reply is printed when it is complete. With `-` the prompt is read from standard input.

      EXAMPLES
        edgeblue ask "Why is the sky blue?"
        git diff | edgeblue ask --max-tokens 200 -
        edgeblue ask --direct --adapter hci1 "Who are you?"
      """)

  @Argument(help: "The prompt; several words are joined with spaces. `-` reads it from standard input.")
  var prompt: [String]

  @Flag(help: "Send the prompt directly over the air, without a running central.") var direct = false
  @Option(
    name: .customLong("central-url"),
    help: ArgumentHelp(
      "The URL of the central. Default: \(CentralClient.defaultURL), if a central of this user or of root runs there.",
      valueName: "url"))
  var centralURL: String?
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var choice: PhoneChoiceOptions
  @OptionGroup var insecure: InsecureOptions
  @Option(
    help: ArgumentHelp(
      "The limit of the reply in tokens, 1 to 1000000. Default: that of the model; 512 without the v2 mux.",
      valueName: "number"))
  var maxTokens: Int?
  @Option(help: ArgumentHelp("The timeout for finding a phone over the air, 1 to 3600 s.", valueName: "seconds"))
  var wait = 30
  @Option(
    help: ArgumentHelp(
      "The timeout for the reply, or for the next part of one that streams, 1 to 3600 s.",
      valueName: "seconds"))
  var timeout = 100
  @OptionGroup var common: CommonOptions

  func validate() throws {
    if direct, centralURL != nil { throw ValidationError("Use either --direct or --central-url.") }
    try checkRange(of: "--wait", wait, 1...3600, unit: "s")
    try checkRange(of: "--timeout", timeout, 1...3600, unit: "s")
    try checkRange(of: "--max-tokens", maxTokens, 1...1_000_000)
  }

  func run() async throws {
    try await common.run { terminal in
      try insecure.check(["--central-url": centralURL], terminal)
      let text = try readPrompt()
      let shown = Shown()
      let (reply, way) = try await untilInterrupted { try await ask(text, terminal, shown) }
      if common.json {
        terminal.print(json: Self.json(reply, via: way))
      } else if reply.answer.ok {
        // Not `say`: a file or a pipe gets the reply unchanged.
        let rest = String(decoding: reply.answer.output.utf8.dropFirst(shown.text.utf8.count), as: UTF8.self)
        Output.write(terminal.shown(rest) + "\n")
      } else if !shown.text.isEmpty {
        terminal.say()
      }
      if reply.completion?.reason == .length { terminal.whisper("the reply reached a limit, and is not complete") }
      if let refusal = reply.answer.refusal { throw Failure(refusal, by: reply.phone) }
    }
  }

  private static func json(_ reply: InferenceReply, via way: String) -> JSONValue {
    var fields: [String: JSONValue] = [
      "id": .string(reply.id), "ok": .bool(reply.answer.ok), "output": .string(reply.answer.output),
      "durationMs": .number(reply.durationMs), "phone": .string(reply.phone), "via": .string(way),
    ]
    if let completion = reply.completion {
      fields["finishReason"] = .string(completion.reason.rawValue)
      if let tokens = completion.promptTokens { fields["promptTokens"] = .number(tokens) }
      if let tokens = completion.replyTokens { fields["replyTokens"] = .number(tokens) }
    }
    return .object(fields)
  }

  /// Returns the reply and its route: `central` or `direct`.
  private func ask(
    _ prompt: String, _ terminal: Terminal, _ shown: Shown
  ) async throws -> (reply: InferenceReply, way: String) {
    let request = InferenceRequest(prompt: prompt, maxTokens: maxTokens)
    let read: @Sendable (ReplyPart) async -> Void = { part in
      switch part {
      // A user reads along; a program gets the reply when it is complete.
      case .text(let piece): if terminal.isLive { shown.show(piece, on: terminal) }
      case .waiting(let ahead): terminal.whisper(ahead == 1 ? "one prompt is ahead …" : "\(ahead) prompts are ahead …")
      case .ignored, .thinking, .toolCall: break
      }
    }
    if !direct {
      let client = CentralClient(url: centralURL ?? CentralClient.defaultURL, replyTimeout: .seconds(timeout))
      // A central that the user names must be reachable; the default one is optional.
      if centralURL != nil {
        return (try await client.generate(request, onPart: read), "central")
      }
      if try await client.isReachable() {
        if PortOwners.areTrusted(at: HTTPAPI.Configuration().port) {
          terminal.whisper("sending the prompt through the central at \(CentralClient.defaultURL) …")
          return (try await client.generate(request, onPart: read), "central")
        }
        terminal.whisper(
          "the central at \(CentralClient.defaultURL) belongs to another user, and is not used without --central-url")
      }
    }
    let radio = try await Radio.open(adapter, terminal)
    let reply = try await PhoneFinder.withPhone(
      on: radio, choice, wait: .seconds(wait), replyTime: .seconds(timeout), progress: { terminal.whisper($0) }
    ) {
      try await $0.generate(request, onPart: read)
    }
    return (reply, "direct")
  }

  /// The part of the reply that was printed while it streamed.
  private final class Shown: Sendable {
    private let state = Lock("")

    var text: String { state.withLock { $0 } }

    func show(_ piece: String, on terminal: Terminal) {
      state.withLock { $0 += piece }
      Output.write(terminal.shown(piece))
    }
  }

  private func readPrompt() throws -> String {
    guard prompt == ["-"] else { return prompt.joined(separator: " ") }
    // A request holds at most 256 KiB; reading one byte more shows that it is too large.
    let limit = 256 << 10
    let data = try FileHandle.standardInput.read(upToCount: limit + 1) ?? Data()
    guard data.count <= limit else {
      throw Failure(
        "the prompt is larger than \(limit) bytes", hint: "a phone accepts at most 256 KiB", status: .badInput)
    }
    guard !data.isEmpty else { throw Failure("the prompt is empty", status: .badInput) }
    return String(decoding: data, as: UTF8.self)
  }
}
