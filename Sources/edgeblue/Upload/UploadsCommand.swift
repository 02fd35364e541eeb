import ArgumentParser

/// `edgeblue uploads`
struct UploadsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uploads",
    abstract: "List, run and control the upload queue.",
    discussion: """
      A failed attempt is retried after 2, 4, 8 and 16 s, and then every 30 s, without end. An item that cannot succeed \
      without the user is marked as failed, and stays in the queue until `retry`. Items without valid credentials wait.

      EXAMPLES
        edgeblue uploads                     list what waits, and the reason
        edgeblue uploads run --endpoint http://127.0.0.1:8333
        edgeblue uploads list --watch        print the progress of uploads
        edgeblue uploads show 12
        edgeblue uploads events              print events and their reasons
        edgeblue uploads retry 12            retry an item, even a failed one
        edgeblue uploads pause               pause the whole queue
        edgeblue uploads verify              compare completed items with the server
        edgeblue uploads list --all --json
      """,
    subcommands: [
      List.self, Show.self, Events.self, Run.self, Retry.self, Pause.self, Resume.self, Drop.self, Verify.self,
    ],
    defaultSubcommand: List.self)

  /// `edgeblue uploads show`
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Print all fields of an item, and its events.")

    @OptionGroup var item: ItemArgument
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.open()
        let known = try item.find(in: store).as(seenWith: store.uploader)
        let events = try store.events(item: known.id)
        if terminal.json {
          let list = JSON.list(events.map { .object($0.json) })
          terminal.print(json: .object(known.json.merging(["events": list]) { $1 }))
        }
        for line in UploadText.lines(known) { terminal.say(line) }
        for event in events { terminal.say(UploadText.line(event, isNamed: false)) }
      }
    }
  }

  /// `edgeblue uploads run`
  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "run", abstract: "Upload queued and newly queued items until Ctrl-C.")

    @Option(help: ArgumentHelp("The number of concurrent uploads, 1 to 64.", valueName: "n")) var concurrency = 3
    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var queue: QueueOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
      guard (1...64).contains(concurrency) else { throw ValidationError("--concurrency: allowed are 1 to 64.") }
    }

    func run() async throws {
      try await common.run { terminal in
        let items = try queue.open()
        let uploads = try store.queue(items, concurrency: concurrency, waitsForLock: false)
        let role = Role { try await UploadFollower(items, uploads, terminal).run() }
        try await runUntilStopped(
          [role, UploadWaker(uploads)] + metrics.server(terminal) { await UploadReport(of: uploads).metrics })
      }
    }
  }

  /// `edgeblue uploads verify`
  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "Compare completed items, or one item, with the server.",
      discussion: "Uses the checksum of the server, or its ETag, or reads the object back.")

    @Argument(help: ArgumentHelp("The number of the item. Default: all completed items.", valueName: "id")) var id:
      Int64?
    @OptionGroup var queue: QueueOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let items = try queue.open()
        let client = try store.client()
        let credentials = try await store.provider().credentials()
        let chosen = if let id { [try ItemArgument.find(id, in: items)] } else { try items.items(in: [.done]) }
        var wrong = 0
        for item in chosen {
          let presence = try await client.presence(of: item, credentials: credentials)
          if presence != .same { wrong += 1 }
          let word = presence == .same ? "the same" : presence == .absent ? "absent" : "different"
          if terminal.json { terminal.print(json: .object(["id": .number(Int(item.id)), "server": .string(word)])) }
          terminal.say("\("\(item.id)".padded(to: 7))\(word.padded(to: 10))\(item.request.key.printable)")
        }
        guard wrong == 0 else {
          throw Failure("\(wrong) of \(chosen.count) objects differ from what was uploaded", status: .failed)
        }
      }
    }
  }
}
