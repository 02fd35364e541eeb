import DurableFiles
import ErrorReporting
import Foundation
import Logging
import MessageSending
import MessageSendingHTTP

/// The folder of a sender, with its files and settings.
struct MessagesFolder: Sendable {
  let path: String

  var queuePath: String { path + "/queue" }
  var vault: Vault { Vault(path: path + "/vault", onProblem: Self.report) }
  /// The folder of the messages that a relay of this machine passes on.
  var relayPath: String { path + "/relay" }
  private var settings: WholeFile { WholeFile(path: path + "/settings.json", limit: 64 << 10) }

  /// The settings that `setup` has stored.
  struct Settings: Codable, Sendable {
    var server: String
    var proxy: String?
    var certificates: String?
    var resolver: String?
    /// The path or the URL of the recipients' signed keys.
    var keys: String
    /// The pinned root key.
    var root: Data

    var options: HTTPMessageTransport.Options {
      HTTPMessageTransport.Options(proxy: proxy, certificates: certificates, resolver: resolver)
    }

    func transport() throws -> HTTPMessageTransport { try HTTPMessageTransport(server, options: options) }

    /// A Boolean value that indicates whether the keys are published, and have to be fetched.
    var arePublished: Bool { keys.contains("://") }

    /// The fetcher of published keys; `nil` for keys in a file.
    func fetcher() throws -> KeysFetcher? { arePublished ? try KeysFetcher(keys, options: options) : nil }
  }

  /// Creates the folder for its user only.
  func create() throws { try Disk().createFolder(path) }

  /// The covers for the keys of a sender: those in its file, or in the copy of what was fetched last. `write` sees the
  /// same ones, and never the network.
  func covers(_ settings: Settings) throws -> KeysFile {
    KeysFile(
      path: settings.arePublished ? path + "/keys.json" : settings.keys,
      root: try RootKey(bytes: [UInt8](settings.root)))
  }

  /// Returns what a run begins with, whatever the queue contains: it fetches published keys. A failure is logged; the
  /// copy counts as long as it is valid.
  func preparation(_ settings: Settings) throws -> @Sendable () async -> Void {
    guard let fetcher = try settings.fetcher() else { return {} }
    let covers = try covers(settings)
    return {
      do {
        try covers.replace(by: try await fetcher.fetch())
      } catch {
        Logger(label: "edgeblue.messages").warning("keys not renewed", metadata: ["reason": "\(error.safeText)"])
      }
    }
  }

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
    try SendingQueue.open(path: queuePath, covers: covers, onProblem: Self.report)
  }

  /// Prints the error of a file that was set aside.
  @Sendable private static func report(_ problem: MessageSendingError) {
    Output.write("edgeblue: \(problem)\n".printableLines, to: STDERR_FILENO)
  }
}
