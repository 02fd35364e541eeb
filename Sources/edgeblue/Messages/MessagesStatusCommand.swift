import ArgumentParser
import JSONValues
import MessageSending

/// `edgeblue messages status`
struct MessagesStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print the last and the next run; with the passphrase, also what waits.",
    discussion: """
      Without the passphrase, the output is the same for every sender: nothing shows whether a message was written.
      """)

  @Flag(help: "Ask for the passphrase, and print what waits and what was sent.") var unlock = false
  @OptionGroup var shared: SenderOptions
  @OptionGroup var passphrase: PassphraseOptions

  func run() async throws {
    try await shared.run { terminal, folder in
      let settings = try folder.read()
      let record = try Self.record(in: folder)
      var json: [String: JSONValue] = [
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
      if unlock || passphrase.passphraseFd != nil { json.merge(try counts(folder, settings, terminal)) { $1 } }
      if terminal.json { terminal.print(json: .object(json)) }
    }
  }

  /// Prints what only the vault knows, and returns it as JSON.
  private func counts(
    _ folder: MessagesFolder, _ settings: MessagesFolder.Settings, _ terminal: Terminal
  ) throws -> [String: JSONValue] {
    let vault = try folder.vault.unlock(passphrase: try passphrase.passphrase())
    let queue = try folder.queue(try folder.covers(settings))
    let states = try Outbox(vault: vault, queue: queue).messages().map(\.state)
    let waiting = states.count { $0 == .pending }
    let sent = states.count { $0 == .sent }
    let unknown = states.count { $0 == .unknown }
    terminal.say("waiting    \(waiting) of \(SendingQueue.capacity)")
    terminal.say("sent       \(sent)")
    if unknown > 0 { terminal.say("unknown    \(unknown): the queue was damaged since") }
    return ["waiting": .number(waiting), "sent": .number(sent), "unknown": .number(unknown)]
  }

  /// The schedule's record; `nil` if the sender has never started.
  private static func record(in folder: MessagesFolder) throws -> SendingRecord? {
    do throws(MessageSendingError) {
      return try SendingRecord.read(folder: folder.path)
    } catch {
      guard error.code == .damagedFile else { throw error }
      throw Failure(
        error.message,
        hint: "the next start of `edgeblue messages run` sets it aside, and makes up for a run that may be owed",
        status: .failed)
    }
  }

  private static func json(_ instant: Int64?) -> JSONValue { JSONValue(instant.map { Int($0 / 1000) }) }
}
