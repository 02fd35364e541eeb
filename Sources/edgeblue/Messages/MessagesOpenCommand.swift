import ArgumentParser
import DurableFiles
import Foundation
import MessageSending

/// `edgeblue messages open`
struct MessagesOpenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "open", abstract: "Sort covers from messages, and print the messages.",
    discussion: "Reads the segments of `edgeblue messages collect`, also while it runs.")

  @Argument(help: ArgumentHelp("Segments, and folders of segments.", valueName: "path"), completion: .file())

  var paths: [String]
  @Option(
    help: ArgumentHelp("The folder of the secret keys of a node and of recipients.", valueName: "folder"),
    completion: .directory)
  var keys: String
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.runWithSecrets { terminal in
      let folder = KeyFolder(path: keys)
      guard let node = try folder.existing("node-1") ?? folder.existing("node-2") else {
        throw Failure("\(keys) contains neither node-1.key nor node-2.key", status: .unavailable)
      }
      let opener = MessageOpener(node: try BoxSecretKey(node), recipients: try folder.recipients())
      var counts = (covers: 0, messages: 0, others: 0, damaged: 0)
      for path in try paths.flatMap(Self.segments) {
        try MessageSegments.read(path) { message in
          do throws(MessageSendingError) {
            switch try opener.open(message) {
            case .cover: counts.covers += 1
            case .otherRecipient: counts.others += 1
            case .message(let received):
              counts.messages += 1
              Self.show(received, terminal)
            }
          } catch  where error.code == .cannotOpen {
            // Anybody may post 773 bytes to a collector.
            counts.damaged += 1
          }
        }
      }
      terminal.whisper(
        "\(counts.messages) messages, \(counts.covers) covers, \(counts.others) for other recipients, "
          + "\(counts.damaged) not for these keys")
      if terminal.json {
        terminal.print(
          json: .object([
            "messages": .number(counts.messages), "covers": .number(counts.covers), "others": .number(counts.others),
            "unreadable": .number(counts.damaged),
          ]))
      }
    }
  }

  private static func segments(_ path: String) throws -> [String] {
    var status = stat()
    guard stat(path, &status) == 0 else { throw FileError("reading \(path)") }
    if status.st_mode & S_IFMT == S_IFDIR { return try MessageSegments.paths(in: path) }
    // A segment that still grows may end with a part of a message; a device may never end.
    let isWhole = Int(status.st_size) % SealedMessage.byteCount == 0 || path.hasSuffix(".part")
    guard status.st_mode & S_IFMT == S_IFREG, isWhole else {
      throw Failure(
        "\(path) is no segment of messages", hint: "`edgeblue messages collect` writes segments", status: .badInput)
    }
    return [path]
  }

  private static func show(_ received: MessageOpener.Received, _ terminal: Terminal) {
    let user = Data(received.user.bytes).base64EncodedString()
    if terminal.json {
      terminal.print(
        json: .object([
          "recipient": .string(received.recipient), "from": .string(user), "text": .string(received.text),
        ]))
    }
    terminal.say("to \(received.recipient.printable), from \(user):")
    // Line by line: a text of a stranger has no control over the terminal.
    for line in received.text.split(separator: "\n", omittingEmptySubsequences: false) {
      terminal.say("  " + String(line).printable)
    }
  }
}
