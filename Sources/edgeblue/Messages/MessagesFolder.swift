import Agent
import ArgumentParser
import DurableFiles
import Foundation
import MessageSending
import MessageSendingHTTP
import Timing

/// The option that names the folder of the sender.
struct MessagesFolderOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder of the queue, the vault and the settings. Default: messages in STATE_DIRECTORY or, without it, in "
        + "/var/lib/edgeblue for root and ~/.local/state/edgeblue for other users.", valueName: "folder"))
  var state: String?

  /// The folder, which need not exist.
  func folder() throws -> MessagesFolder {
    MessagesFolder(path: try StateFolder.path(named: state, of: "the sender", below: "/messages"))
  }
}

/// The folder of a sender, with its files and settings.
struct MessagesFolder: Sendable {
  let path: String

  var queuePath: String { path + "/queue" }
  var vaultPath: String { path + "/vault" }
  private var settings: WholeFile { WholeFile(path: path + "/settings.json", limit: 64 << 10) }

  /// The settings that `setup` has stored.
  struct Settings: Codable, Sendable {
    var server: String
    var proxy: String?
    var certificates: String?
    var resolver: String?
    /// The path of the recipients' signed keys.
    var keys: String
    /// The pinned root key.
    var root: Data

    func transport() throws -> HTTPMessageTransport {
      try HTTPMessageTransport(server, options: .init(proxy: proxy, certificates: certificates, resolver: resolver))
    }

    /// The covers for the keys in the file, which is read for each cover, so that newer keys need no restart.
    func covers() throws -> FileCovers { FileCovers(path: keys, root: try RootKey(bytes: [UInt8](root))) }
  }

  /// Creates the folder for its user only.
  func create() throws { try Disk().createFolder(path) }

  func read() throws -> Settings {
    guard let data = try settings.read() else {
      throw Failure(
        "\(path) is not the folder of a sender", hint: "create one with `edgeblue messages setup`", status: .unavailable
      )
    }
    do {
      return try JSONDecoder().decode(Settings.self, from: data)
    } catch {
      throw Failure("\(settings.path) is corrupt", hint: "run `edgeblue messages setup` again", status: .failed)
    }
  }

  func write(_ new: Settings) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try settings.write(try encoder.encode(new))
  }

  func queue(_ covers: some CoverSource) throws -> SendingQueue {
    try SendingQueue.open(path: queuePath, covers: covers) { problem in
      Output.write("edgeblue: \(problem)\n".printableLines, to: STDERR_FILENO)
    }
  }
}

/// Covers for the keys in a file.
struct FileCovers: CoverSource {
  let path: String
  let root: RootKey

  /// Returns the keys, if they are signed and valid.
  func keys() throws(MessageSendingError) -> RecipientKeys {
    try SignedKeys.read(path: path).verified(by: root, atMs: WallClock.unixMilliseconds())
  }

  func cover() throws(MessageSendingError) -> SealedMessage { try MessageSealer(keys: try keys()).cover() }
}
