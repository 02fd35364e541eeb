import ArgumentParser
import Foundation
import Uploads

extension UploadsCommand {
  /// `edgeblue uploads verify`
  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "Compare completed items, or one item, with the server.",
      discussion: """
        Each item is compared on the server that it was uploaded to, by the checksum of the server, or its ETag, or by \
        reading the object back. With --repair, objects that are absent or different are queued again; a different \
        object is replaced only if the item was added with --replace.
        """)

    @Argument(help: ArgumentHelp("The number of the item. Default: all completed items.", valueName: "id")) var id:
      Int64?
    @Flag(help: "Queue objects again that are absent or different.") var repair = false
    @OptionGroup var queue: QueueOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var insecure: InsecureOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        try insecure.check(["--token-service": store.tokenService], terminal)
        let items = try queue.openForItems()
        let credentials = try await store.provider().credentials()
        let chosen = if let id { [try ItemArgument.find(id, in: items)] } else { try items.items(in: [.done]) }
        var clients: [String?: S3Client] = [:]
        var result = Result()
        for item in chosen {
          let endpoint = item.request.endpoint
          let client = try clients[endpoint] ?? client(of: endpoint, items, terminal)
          clients[endpoint] = client
          let presence = try await client.presence(of: item, credentials: credentials)
          let isGone = !FileManager.default.fileExists(atPath: item.request.content.path)
          let isRepaired = repair && presence != .same && !isGone
          if isRepaired { try items.retry(item.id) }
          result.add(presence, isRepaired: isRepaired)
          report(item, presence, isRepaired: isRepaired, isGone: isGone, terminal)
        }
        try conclude(result, terminal)
      }
    }

    private struct Result {
      var count = 0
      var wrong = 0
      var repaired = 0

      mutating func add(_ presence: ObjectPresence, isRepaired: Bool) {
        count += 1
        if presence != .same { wrong += 1 }
        if isRepaired { repaired += 1 }
      }
    }

    /// Returns a client of the server of an item.
    private func client(of endpoint: String?, _ items: QueueStore, _ terminal: Terminal) throws -> S3Client {
      let server = try endpoint.map { try store.server($0, items) } ?? store.server(items)
      try insecure.check(server, terminal)
      return try store.client(of: server)
    }

    private func report(
      _ item: UploadItem, _ presence: ObjectPresence, isRepaired: Bool, isGone: Bool, _ terminal: Terminal
    ) {
      let word = presence == .same ? "the same" : presence == .absent ? "absent" : "different"
      if terminal.json {
        terminal.print(
          json: .object([
            "id": .number(Int(item.id)), "server": .string(word), "isQueuedAgain": .bool(isRepaired),
          ]))
      }
      let end = isRepaired ? ", queued again" : presence != .same && isGone ? ", and its local file is gone" : ""
      terminal.say("\("\(item.id)".padded(to: 7))\(word.padded(to: 10))\(item.request.key.printable)\(end)")
    }

    private func conclude(_ result: Result, _ terminal: Terminal) throws {
      let (count, wrong, repaired) = (result.count, result.wrong, result.repaired)
      if repaired > 0 { terminal.say("\(repaired) of \(count) queued again; `edgeblue uploads run` sends them") }
      guard wrong > repaired else { return }
      guard !repair else {
        throw Failure(
          "\(wrong - repaired) of \(count) cannot be repaired, because the local file is gone", status: .failed)
      }
      throw Failure(
        "\(wrong) of \(count) \(wrong == 1 ? "object differs" : "objects differ") from what was uploaded",
        hint: "`edgeblue uploads verify --repair` queues them again", status: .failed)
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
    @OptionGroup var queue: QueueOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var insecure: InsecureOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        try insecure.check(["--to": to], terminal)
        let items = try queue.openForItems()
        let server = try store.server(to, items)
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
