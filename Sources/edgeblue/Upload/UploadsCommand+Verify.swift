import ArgumentParser
import Foundation
import JSONValues
import Uploads

extension UploadsCommand {
  /// `edgeblue uploads verify`
  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "Compare completed items, or one item, with the server.",
      discussion: """
        Each item is compared on the server that it was uploaded to, by the checksum of the server, or its ETag, or by \
        reading the object back. Items of another account than --account, and those whose server does not respond or \
        does not permit it, are listed as unknown, and the others are compared all the same: the status is 70 if an \
        object differs, and otherwise 75 if one is unknown. With --repair, objects that are absent or different are \
        queued again; a different object is replaced only if the item was added with --replace.
        """)

    @Argument(help: ArgumentHelp("The number of the item. Default: all completed items.", valueName: "id")) var id:
      Int64?
    @Flag(help: "Queue objects again that are absent or different.") var repair = false
    @Flag(help: "Print whole keys at a terminal too, also where a line is longer than the terminal is wide.")
    var full = false
    @OptionGroup var access: QueueServerOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        try access.insecure.check(["--token-service": access.store.tokenService], terminal)
        let items = try access.queue.openForItems()
        let verifier = try await UploadsVerifier(items, access.store, access.insecure, terminal)
        let chosen = if let id { [try ItemArgument.find(id, in: items)] } else { try items.items(in: [.done]) }
        var counts = Counts()
        for item in chosen {
          let found = try await verifier.compare(item)
          let isGone = !FileManager.default.fileExists(atPath: item.request.content.path)
          let isRepaired = repair && found.isWrong && !isGone
          if isRepaired { try items.retry(item.id) }
          counts.add(found, isRepaired: isRepaired)
          report(item, found, isRepaired: isRepaired, isGone: isGone, terminal)
        }
        try conclude(counts, terminal)
      }
    }

    private struct Counts {
      var all = 0
      var wrong = 0
      var unknown = 0
      var repaired = 0

      mutating func add(_ found: UploadsVerifier.Finding, isRepaired: Bool) {
        all += 1
        if found.isWrong { wrong += 1 }
        if found.failure != nil { unknown += 1 }
        if isRepaired { repaired += 1 }
      }
    }

    private func report(
      _ item: UploadItem, _ found: UploadsVerifier.Finding, isRepaired: Bool, isGone: Bool, _ terminal: Terminal
    ) {
      if terminal.json {
        terminal.print(
          json: .object([
            "id": .number(Int(item.id)), "server": .string(found.word), "isQueuedAgain": .bool(isRepaired),
            "error": JSONValue(found.failure?.message),
          ]))
      }
      let end = isRepaired ? ", queued again" : found.isWrong && isGone ? ", and its local file is gone" : ""
      let columns = full ? nil : terminal.columns.map { $0 - end.columns }
      let start = "\("\(item.id)".padded(to: 7))\(found.word.padded(to: 10))"
      terminal.say(UploadText.line(start, item.request.key, columns: columns) + end)
      for line in found.failure?.message.printable.lines(behind: String(repeating: " ", count: 7)) ?? [] {
        terminal.say(line)
      }
    }

    private func conclude(_ counts: Counts, _ terminal: Terminal) throws {
      let count = counts.all
      if counts.repaired > 0 {
        terminal.say("\(counts.repaired) of \(count) queued again; `edgeblue uploads run` sends them")
      }
      let unknown = counts.unknown > 0 ? "\(counts.unknown) of \(count) could not be verified" : nil
      let wrong: String? =
        if counts.wrong == counts.repaired {
          nil
        } else if repair {
          "\(counts.wrong - counts.repaired) of \(count) cannot be repaired, because the local file is gone"
        } else {
          "\(counts.wrong) of \(count) \(counts.wrong == 1 ? "object differs" : "objects differ") from what was uploaded"
        }
      let message = [wrong, unknown].compactMap { $0 }.joined(separator: "; ")
      guard !message.isEmpty else { return }
      throw Failure(
        message, hint: wrong != nil && !repair ? "`edgeblue uploads verify --repair` queues them again" : nil,
        status: wrong != nil ? .failed : .tryAgain)
    }
  }

  /// `edgeblue uploads move`
  struct Move: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "move", abstract: "Move an item to another server, or all items that are not uploaded yet.",
      discussion: """
        The item is uploaded there, even if the first server has it; what the first server has stays there. The local \
        file must still exist.
        """)

    @Argument(
      help: ArgumentHelp("The number of the item. Default: all items that are not uploaded yet.", valueName: "id"))
    var id: Int64?
    @Option(help: ArgumentHelp("The URL of the other server.", valueName: "url")) var to: String
    @OptionGroup var access: QueueServerOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        try access.insecure.check(["--to": to], terminal)
        let items = try access.queue.openForItems()
        let server = try access.store.server(to, items)
        let ids =
          if let id { [try ItemArgument.find(id, in: items).id] } else {
            try items.items(in: [.waiting, .uploading, .failed, .paused]).map(\.id)
          }
        for id in ids {
          try items.move(id, to: server)
          if terminal.json { terminal.print(json: .object(try ItemArgument.find(id, in: items).json)) }
        }
        terminal.say("\(ids.count) \(ids.count == 1 ? "item belongs" : "items belong") to \(server.url) now")
      }
    }
  }
}
