import ArgumentParser

/// `edgeblue uploads`
struct UploadsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uploads",
    abstract: "Show the queue of uploads, run it, and see to single items.",
    discussion: """
      What fails is tried again after 2, 4, 8, 16 and then every 30 seconds, for ever. What cannot succeed without a \
      person has failed, stays in the queue, and waits for `retry`. Without credentials that the server takes items wait.

      EXAMPLES
        edgeblue uploads                     what waits, and why
        edgeblue uploads run --endpoint http://127.0.0.1:8333
        edgeblue uploads list --watch        what goes on, whichever program uploads
        edgeblue uploads show 12
        edgeblue uploads events              what happened, and why
        edgeblue uploads retry 12            also what has failed
        edgeblue uploads pause               all of it; pause 12 holds one item
        edgeblue uploads verify              compares what is done with what the server has
        edgeblue uploads list --all --json
      """,
    subcommands: [
      List.self, Show.self, Events.self, Run.self, Retry.self, Pause.self, Resume.self, Drop.self, Verify.self,
    ],
    defaultSubcommand: List.self)

  /// `edgeblue uploads show`
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show one item with all that is known, and what happened to it.")

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
      commandName: "run", abstract: "Upload what is queued, and what comes, until Ctrl-C.")

    @Option(help: ArgumentHelp("How many go at once, 1 to 64.", valueName: "n")) var concurrency = 3
    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var queue: QueueOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
      guard (1...64).contains(concurrency) else { throw ValidationError("--concurrency is 1 to 64.") }
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
      commandName: "verify", abstract: "Compare what is done, or one item, with what the server has.",
      discussion: "By the server's checksum; without one by its ETag, or by reading the object back.")

    @Argument(help: ArgumentHelp("The item; without it, all that are done.", valueName: "id")) var id: Int64?
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
          throw Failure("\(wrong) of \(chosen.count) are not what was uploaded", status: .failed)
        }
      }
    }
  }
}
