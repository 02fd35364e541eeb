import ArgumentParser
import Foundation
import MessageSending

/// `edgeblue messages setup`
struct MessagesSetupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Create a sender: its settings, its queue of covers and its vault.",
    discussion: """
      Every sender is set up in the same way, whether its user ever writes a message or not. An existing queue and vault \
      are kept; only the settings are replaced. The passphrase of --passphrase-fd must then be that of the vault. \
      --new-vault replaces a vault whose passphrase is lost: messages that wait are still sent, and `edgeblue messages \
      status` does not know them any more.
      """)

  @Option(help: ArgumentHelp("The URL of the server that messages are posted to.", valueName: "url")) var server: String
  @Option(
    help: ArgumentHelp(
      "The recipients' signed keys: a file, which may be replaced by newer ones, or a URL, which is fetched before each run.",
      valueName: "file or url"))
  var keys: String
  @Option(help: ArgumentHelp("The root key that the keys have to be signed with, in base64.", valueName: "key"))
  var root: String
  @Option(help: ArgumentHelp("A SOCKS proxy, such as socks5://127.0.0.1:9050 for Tor.", valueName: "url"))
  var proxy: String?
  @Option(help: ArgumentHelp("A PEM file with the only certificates to trust.", valueName: "file"), completion: .file())
  var ca: String?
  @Option(help: ArgumentHelp("A DNS-over-HTTPS resolver, such as https://1.1.1.1/dns-query.", valueName: "url"))
  var resolver: String?
  @Flag(help: "Replace an existing vault by a new one with a new passphrase.") var newVault = false
  @OptionGroup var shared: SenderOptions
  @OptionGroup var passphrase: PassphraseOptions

  func run() async throws {
    try await shared.run { terminal, folder in
      let settings = MessagesFolder.Settings(
        server: server, proxy: proxy, certificates: ca.map(Self.absolute), resolver: resolver,
        keys: keys.contains("://") ? keys : Self.absolute(keys), root: Data(try RootKey(base64: root).bytes))
      _ = try settings.transport()
      let covers = try folder.covers(settings)
      if let fetcher = try settings.fetcher() {
        let document = try await untilInterrupted { try await fetcher.fetch() }
        try folder.create()
        try covers.replace(by: document)
      }
      _ = try covers.keys()
      try folder.create()
      let isKept = try !newVault && folder.vault.exists()
      if !isKept {
        _ = try folder.vault.create(passphrase: try passphrase.passphrase(isNew: true))
      } else if passphrase.isGiven {
        _ = try folder.vault.unlock(passphrase: try passphrase.passphrase())
      }
      _ = try folder.queue(covers)
      try folder.write(settings)
      if terminal.json { terminal.print(json: .object(["folder": .string(folder.path), "server": .string(server)])) }
      terminal.say("The sender in \(folder.path) is set up. `edgeblue messages run` starts it.")
      if isKept { terminal.say("Its vault was there before, and has the passphrase that it had.") }
    }
  }

  private static func absolute(_ path: String) -> String {
    URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
  }
}
