import ArgumentParser
import EdgeCoder
import EdgeCoderHTTP
import Foundation
import Streams

/// `edgeblue ask`
struct AskCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask",
    abstract: "Send one prompt to a phone and print its answer.",
    discussion: """
      Goes through the central that runs on this machine; when none does, straight over the air. Only the answer is \
      printed to standard output: in a terminal as it comes where the phone has a v2 link, else when it is complete. \
      With `-` the prompt comes from standard input.

      EXAMPLES
        edgeblue ask "Why is the sky blue?"
        git diff | edgeblue ask --max-tokens 200 -
        edgeblue ask --direct --adapter hci1 "Who are you?"
      """)

  @Argument(help: "The prompt; several words are joined with blanks. `-` reads it from standard input.")
  var prompt: [String]

  @Flag(help: "Go over the air at once, without looking for a running central.") var direct = false
  @Option(
    name: .customLong("central-url"),
    help: ArgumentHelp(
      "The central to go through. Without it \(CentralClient.defaultURL), if one runs there.", valueName: "url"))
  var centralURL: String?
  @OptionGroup var adapter: AdapterOptions
  @Option(help: ArgumentHelp("The most tokens of the answer. Without it the phone's own 512.", valueName: "number"))
  var maxTokens: Int?
  @Option(help: ArgumentHelp("How long to look for a phone when going over the air.", valueName: "seconds"))
  var wait = 30
  @Option(
    help: ArgumentHelp(
      "The longest wait for the answer, or for more of one that comes in pieces; without the search.",
      valueName: "seconds"))
  var timeout = 100
  @OptionGroup var common: CommonOptions

  func validate() throws {
    if direct, centralURL != nil { throw ValidationError("Use either --direct or --central-url.") }
    guard (1...3600).contains(wait) else { throw ValidationError("--wait is 1 to 3600 seconds.") }
    guard (1...3600).contains(timeout) else { throw ValidationError("--timeout is 1 to 3600 seconds.") }
    guard maxTokens.map({ (1...1_000_000).contains($0) }) ?? true else {
      throw ValidationError("--max-tokens is 1 or more.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      let text = try readPrompt()
      let shown = Shown()
      let (reply, way) = try await untilInterrupted { try await ask(text, terminal, shown) }
      if common.json {
        terminal.print(
          json: .object([
            "id": .string(reply.id), "ok": .bool(reply.ok), "output": .string(reply.output),
            "durationMs": .number(reply.durationMs), "phone": .string(reply.phone), "via": .string(way),
          ]))
      } else if reply.ok {
        terminal.say(String(decoding: reply.output.utf8.dropFirst(shown.text.utf8.count), as: UTF8.self))
      } else if !shown.text.isEmpty {
        terminal.say()
      }
      guard reply.ok else {
        throw Failure(
          "\(reply.phone.isEmpty ? "the phone" : reply.phone.printable) could not answer: \(reply.output.printable)",
          hint: "the phone's own log says more", status: .failed)
      }
    }
  }

  /// The reply and the way it took: `central` or `direct`.
  private func ask(
    _ prompt: String, _ terminal: Terminal, _ shown: Shown
  ) async throws -> (reply: InferenceReply, way: String) {
    // A person reads along; a program gets the answer when it is known to be one.
    let read: @Sendable (String) async -> Void = { piece in if terminal.isLive { shown.show(piece) } }
    if !direct {
      let client = CentralClient(url: centralURL ?? CentralClient.defaultURL, replyTime: .seconds(timeout))
      // A central that was asked for must be there; one that only might be is not missed.
      if centralURL != nil {
        return (try await client.generate(prompt: prompt, maxTokens: maxTokens, onText: read), "central")
      }
      if try await client.isReachable() {
        terminal.whisper("asking the central at \(CentralClient.defaultURL) …")
        return (try await client.generate(prompt: prompt, maxTokens: maxTokens, onText: read), "central")
      }
    }
    let radio = try await Radio.open(adapter, terminal)
    let reply = try await PhoneFinder.withPhone(
      on: radio, wait: .seconds(wait), replyTime: .seconds(timeout), progress: { terminal.whisper($0) }
    ) {
      try await $0.generate(prompt: prompt, maxTokens: maxTokens, onText: read)
    }
    return (reply, "direct")
  }

  /// What of the answer was printed while it came.
  private final class Shown: Sendable {
    private let state = Lock("")

    var text: String { state.withLock { $0 } }

    func show(_ piece: String) {
      state.withLock { $0 += piece }
      Output.write(piece)
    }
  }

  private func readPrompt() throws -> String {
    guard prompt == ["-"] else { return prompt.joined(separator: " ") }
    // A request has room for 256 KiB; reading one byte more is enough to know that it does not fit.
    let limit = 256 << 10
    let data = try FileHandle.standardInput.read(upToCount: limit + 1) ?? Data()
    guard data.count <= limit else {
      throw Failure("the prompt is larger than \(limit) bytes", hint: "a phone takes 256 KiB", status: .badInput)
    }
    guard !data.isEmpty else { throw Failure("the prompt is empty", status: .badInput) }
    return String(decoding: data, as: UTF8.self)
  }
}
