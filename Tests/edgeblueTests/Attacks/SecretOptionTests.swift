import Testing

/// Every local user reads the arguments of every process.
@Suite("Secrets on the command line") struct SecretOptionTests {
  /// The options that are named like secrets, as `command --option value`.
  private static func options(_ command: CommandTree, below path: String = "") -> [String] {
    let here = path + command.commandName
    let own = (command.arguments ?? []).filter(isSecretive).map { argument in
      "\(here) --\(argument.names?.first?.name ?? "") \(argument.valueName ?? "")"
    }
    return own + (command.subcommands ?? []).flatMap { options($0, below: here + " ") }
  }

  private static func isSecretive(_ argument: CommandTree.Argument) -> Bool {
    let words = ["token", "key", "secret", "pass", "credential"]
    return argument.kind != "flag"
      && (argument.names ?? []).contains { name in words.contains { name.name.contains($0) } }
  }

  /// Their values: what names the place of a secret, and what is none.
  private static let places = ["file", "folder", "file or url"]
  private static let others = [
    "--max-tokens number", "--token-service url", "upload --key key", "--passphrase-fd number",
    "loop start --token form", "speedtest run --token form",
  ]

  @Test("No option of any command takes a secret, only the file or descriptor that has it") func optionsNameFiles()
    throws
  {
    let found = Self.options(try CommandTree.read())
    #expect(found.count > 20)
    for option in found {
      let isPlace = Self.places.contains { option.hasSuffix(" " + $0) }
      #expect(isPlace || Self.others.contains { option.hasSuffix($0) }, "\(option)")
    }
  }
}
