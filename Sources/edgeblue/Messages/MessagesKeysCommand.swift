import ArgumentParser
import DurableFiles
import Foundation
import MessageSending
import Timing

/// `edgeblue messages keys`
struct MessagesKeysCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "Make and show the recipients' keys.",
    subcommands: [Make.self, Show.self])

  /// `edgeblue messages keys make`
  struct Make: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "make", abstract: "Make secret keys and the signed list of public keys in a folder.",
      discussion: """
        Creates root.key, node-1.key, node-2.key and recipient-ID.key for each recipient, readable by their owner only, \
        and keys.json with the public keys, signed by the root key. Existing keys are kept: with the same folder, the \
        command renews keys.json. Senders need keys.json and the root's public key, which the command prints.
        """)

    @Argument(help: ArgumentHelp("The folder of the keys.", valueName: "folder"), completion: .directory)

    var folder: String
    @Option(help: ArgumentHelp("The identifier of a recipient; may be repeated.", valueName: "id"))
    var recipient: [String]
    @Option(help: ArgumentHelp("The days for which the list is valid, 1 to 3650.", valueName: "days")) var days = 90
    @OptionGroup var common: CommonOptions

    func validate() throws {
      try checkRange(of: "--days", days, 1...3650)
      guard !recipient.isEmpty else { throw ValidationError("--recipient is required.") }
      guard recipient.allSatisfy({ !$0.contains("/") && !$0.isEmpty }) else {
        throw ValidationError("--recipient: an identifier is not empty and has no slash.")
      }
    }

    func run() async throws {
      try await common.runWithSecrets { terminal in
        try Disk().createFolder(folder)
        let files = KeyFolder(path: folder)
        let root = try RootSecretKey(seed: try files.secret("root"))
        let nodes = try (1...2).map { try BoxSecretKey(try files.secret("node-\($0)")).publicKey }
        let recipients = try recipient.map { id in
          RecipientKeys.Recipient(id: id, key: try BoxSecretKey(try files.secret("recipient-\(id)")).publicKey)
        }
        let now = WallClock.unixMilliseconds()
        let keys = try RecipientKeys(
          nodes: nodes, recipients: recipients, issuedMs: now, expiresMs: now + Int64(days) * 86_400_000)
        let document = try SignedKeys(keys, signedBy: root).document()
        try WholeFile(path: folder + "/keys.json", limit: SignedKeys.largestByteCount).write(Data(document))
        let text = Data(root.publicKey.bytes).base64EncodedString()
        if terminal.json {
          terminal.print(json: .object(["keys": .string(folder + "/keys.json"), "root": .string(text)]))
        }
        terminal.say("Signed \(folder)/keys.json, valid for \(days) days. The root key to pin:")
        terminal.say(text)
      }
    }
  }

  /// `edgeblue messages keys show`
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Check a signed list of keys, and print it.")

    @Argument(help: ArgumentHelp("The signed list, such as keys.json.", valueName: "file"), completion: .file())
    var file: String
    @Option(help: ArgumentHelp("The root key to check the signature with, in base64.", valueName: "key"))
    var root: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let root = try RootKey(base64: root)
        let keys = try KeysFile(path: file, root: root).keys()
        if terminal.json {
          terminal.print(
            json: .object([
              "expires": .number(Int(keys.expiresMs / 1000)),
              "recipients": .array(keys.recipients.map { .string($0.id) }),
            ]))
        }
        terminal.say("Valid until \(Terminal.clock(atMs: keys.expiresMs)). Recipients:")
        for recipient in keys.recipients { terminal.say("  \(recipient.id.printable)") }
      }
    }
  }
}

extension RootKey {
  /// Creates a key from its base64 form.
  init(base64 text: String) throws {
    guard let bytes = Data(base64Encoded: text) else {
      throw Failure("the root key is not base64", hint: "`edgeblue messages keys make` prints it", status: .badInput)
    }
    try self.init(bytes: [UInt8](bytes))
  }
}

/// A folder of secret keys, one file for each.
struct KeyFolder: Sendable {
  let path: String

  /// Returns a secret key; creates it if it does not exist.
  func secret(_ name: String) throws -> SecretBytes {
    if let secret = try existing(name) { return secret }
    let secret = try SecretBytes(randomCount: BoxSecretKey.byteCount)
    try file(name).write(secret)
    return secret
  }

  /// Returns a secret key; `nil` if it does not exist.
  func existing(_ name: String) throws -> SecretBytes? {
    guard try Disk().exists(file(name).path) else { return nil }
    return try file(name).read(count: BoxSecretKey.byteCount)
  }

  /// Returns the keys of all recipients, by their identifiers.
  func recipients() throws -> [String: BoxSecretKey] {
    var keys: [String: BoxSecretKey] = [:]
    for name in try Disk().names(in: path) where name.hasPrefix("recipient-") && name.hasSuffix(".key") {
      guard let secret = try existing(String(name.dropLast(4))) else { continue }
      keys[String(name.dropFirst("recipient-".count).dropLast(4))] = try BoxSecretKey(secret)
    }
    return keys
  }

  private func file(_ name: String) -> SecretFile { SecretFile(path: "\(path)/\(name).key") }
}
