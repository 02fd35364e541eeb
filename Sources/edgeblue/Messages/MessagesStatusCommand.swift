import ArgumentParser
import MessageSending

/// `edgeblue messages status`
struct MessagesStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print the last and the next run; with the passphrase, also what waits.",
    discussion: """
      Without the passphrase, the output is the same for every sender: nothing shows whether a message was written.
      """)

  @Flag(help: "Ask for the passphrase, and print what waits and what was sent.") var unlock = false
  @OptionGroup var folder: MessagesFolderOptions
  @OptionGroup var passphrase: PassphraseOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      try ProcessSecrets.forbidCoreDumps()
      let folder = try folder.folder()
      let settings = try folder.read()
      let record = try SendingRecord.read(folder: folder.path)
      var json: [String: JSON] = [
        "server": .string(settings.server), "lastRun": Self.json(record?.lastRun), "nextTick": Self.json(record?.due),
        "failures": .number(Int(record?.failures ?? 0)), "isOwed": .bool(record?.isPending ?? false),
      ]
      terminal.say("server     \(settings.server)")
      terminal.say("last run   \(record?.lastRun.map(Terminal.clock(atMs:)) ?? "never")")
      terminal.say(
        "next tick  \(record?.due.map(Terminal.clock(atMs:)) ?? "after the start of `edgeblue messages run`")")
      if let failures = record?.failures, failures > 0 {
        terminal.say("failures   \(failures) runs since the last one")
      }
      if unlock || passphrase.passphraseFd != nil {
        let vault = try folder.vault.unlock(passphrase: try passphrase.passphrase())
        let queue = try folder.queue(try folder.covers(settings))
        let messages = try Outbox(vault: vault, queue: queue).messages()
        func count(_ state: Outbox.State) -> Int { messages.count { $0.state == state } }
        json["waiting"] = .number(count(.pending))
        json["sent"] = .number(count(.sent))
        json["unknown"] = .number(count(.unknown))
        terminal.say("waiting    \(count(.pending)) of \(SendingQueue.capacity)")
        terminal.say("sent       \(count(.sent))")
        if count(.unknown) > 0 { terminal.say("unknown    \(count(.unknown)): the queue was damaged since") }
      }
      if terminal.json { terminal.print(json: .object(json)) }
    }
  }

  private static func json(_ instant: Int64?) -> JSON { JSON(instant.map { Int($0 / 1000) }) }
}
