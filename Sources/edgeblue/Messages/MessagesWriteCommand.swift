import ArgumentParser
import Foundation
import MessageSending

/// `edgeblue messages write`
struct MessagesWriteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "write", abstract: "Seal a text and put it into the queue.",
    discussion: """
      Reads the text from standard input. At a terminal it shows how full the message is while you type; Ctrl-D ends \
      the text. A text that does not fit is refused. Nothing is sent now: the message waits for its turn.
      """)

  @Option(help: ArgumentHelp("The identifier of the recipient.", valueName: "id")) var to: String
  @OptionGroup var shared: SenderOptions
  @OptionGroup var passphrase: PassphraseOptions

  func validate() throws {
    guard passphrase.passphraseFd != 0 || StandardInput.isTerminal else {
      throw ValidationError("--passphrase-fd 0: standard input contains the text; use another descriptor.")
    }
  }

  func run() async throws {
    try await shared.run { terminal, folder in
      let covers = try folder.covers(try folder.read())
      // First, so that an unknown recipient is found before the text is typed.
      let keys = try covers.keys()
      guard keys.recipients.contains(where: { $0.id == to }) else {
        throw Failure(
          "there is no recipient \(to.printable)",
          hint: "recipients: \(keys.recipients.map(\.id.printable).joined(separator: ", "))", status: .badInput)
      }
      let vault = try folder.vault.unlock(passphrase: try passphrase.passphrase())
      let text = try StandardInput.isTerminal ? Self.typed() : Self.read()
      guard !text.isEmpty else { throw Failure("the text is empty", status: .badInput) }
      let outbox = Outbox(vault: vault, queue: try folder.queue(covers))
      _ = try outbox.write(text, to: to, sealer: MessageSealer(keys: keys))
      let size = try PaddedText.usedByteCount(text)
      if terminal.json {
        terminal.print(json: ["to": .string(to), "bytes": .number(size), "limit": .number(PaddedText.byteCount)])
      }
      terminal.say("The message waits in the queue, \(Self.fullness(size)) full.")
    }
  }

  /// Returns the text of standard input, which ends with its last line.
  private static func read() throws -> String {
    let data = try FileHandle.standardInput.read(upToCount: PaddedText.largestByteCount + 1) ?? Data()
    guard let text = String(validating: data, as: UTF8.self) else {
      throw Failure("the text is not UTF-8", status: .badInput)
    }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  /// Returns the text that the user types, and shows after each key how full the message is.
  private static func typed() throws -> String {
    let console = try Console()
    var entry = TextEntry()
    defer { entry.wipe() }
    try type(into: &entry, at: console)
    return entry.text
  }

  private static func type(into entry: inout TextEntry, at console: Console) throws {
    // The terminal must not continue the line in a second row, where nothing would clear it.
    Output.write("\u{1b}[?7l", to: console.number)
    defer { Output.write("\u{1b}[?7h\n", to: console.number) }
    try console.keys(after: "Type the message; Ctrl-D ends it.\n") { key in
      let state = entry.add(key)
      let used = try PaddedText.usedByteCount(entry.text)
      // The line that is being typed, after the number; a line that was finished stays above.
      let line = entry.text.split(separator: "\n", omittingEmptySubsequences: false).last ?? ""
      let before = key == 10 || key == 13 ? "\n" : ""
      let colour = used > PaddedText.byteCount ? "\u{1b}[31m" : "\u{1b}[2m"
      let shown = String(line).printable.end(columns: console.width.map { $0 - fullness(used).count - 2 })
      Output.write("\(before)\r\u{1b}[K\(colour)\(fullness(used))\u{1b}[0m \(shown)", to: console.number)
      return state == .typing
    }
  }

  private static func fullness(_ used: Int) -> String { "\(used)/\(PaddedText.byteCount)" }
}
