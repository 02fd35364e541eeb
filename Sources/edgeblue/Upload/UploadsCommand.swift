import ArgumentParser
import JSONValues

/// `edgeblue uploads`
struct UploadsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uploads",
    abstract: "List, run and control the upload queue.",
    discussion: """
      A failed attempt is retried after 2, 4, 8 and 16 s, and then every 30 s, without end. An item that cannot succeed \
      without the user is marked as failed, and stays in the queue until `retry`. Items without valid credentials wait. \
      An item goes only to the server that it was queued for, unless `move` names another one.

      EXAMPLES
        edgeblue uploads                     list what waits, and the reason
        edgeblue uploads run --endpoint http://127.0.0.1:8333
        edgeblue uploads list --watch        print the progress of uploads
        edgeblue uploads show 12
        edgeblue uploads events              print events and their reasons
        edgeblue uploads retry 12            retry an item, even a failed or completed one
        edgeblue uploads pause               pause the whole queue
        edgeblue uploads verify --repair     compare completed items with the server, and send what it lacks
        edgeblue uploads move 12 --to http://127.0.0.1:9000
        edgeblue uploads forget /mnt/card    queue no more of a folder of recordings, which is gone
        edgeblue uploads list --all --json
      """,
    subcommands: [
      List.self, Show.self, Events.self, Run.self, Retry.self, Pause.self, Resume.self, Drop.self, Move.self,
      Forget.self, Verify.self,
    ],
    defaultSubcommand: List.self)

  /// `edgeblue uploads show`
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Print all fields of an item, and its events.")

    @OptionGroup var item: ItemArgument
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let (store, found) = try item.look()
        let known = try found.as(seenWith: store.uploader, missing: store.missingCredentials())
        let events = try store.events(item: known.id)
        if terminal.json {
          let list = JSONValue.array(events.map { .object($0.json) })
          terminal.print(json: .object(known.json.merging(["events": list]) { $1 }))
        }
        for line in UploadText.lines(known) { terminal.say(line) }
        let server = try store.servers().first { $0.endpoint == known.request.endpoint }
        if let remark = server?.remark { terminal.say("note".padded(to: 14) + remark) }
        for line in events.flatMap({ UploadText.lines($0, isNamed: false) }) { terminal.say(line) }
      }
    }
  }

  /// `edgeblue uploads run`
  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "run", abstract: "Upload queued and newly queued items until Ctrl-C.",
      discussion: """
        Also queues finished segments of recorders (`edgeblue record --upload`) that ended before they could. Without \
        --endpoint the items are uploaded to the server that they were queued for.
        """)

    @Flag(
      help: """
        End when there is nothing more to do: with status 0 if everything is uploaded, 70 if something has failed, now \
        or earlier, and 75 if items are paused or wait for another server or account.
        """) var once = false
    @Option(help: ArgumentHelp("End after this time, whatever is left, with status 75.", valueName: "seconds"))
    var wait: Int?
    @Option(help: ArgumentHelp("The number of concurrent uploads, 1 to 64.", valueName: "n")) var concurrency = 3
    @Option(
      help: ArgumentHelp(
        "The use of a metered network: pause (nothing is uploaded), spare (only once the oldest item has waited for a "
          + "day) or ignore.", valueName: "policy")) var metered = MeteredPolicy.ignore
    @OptionGroup var metrics: MetricsOptions
    @OptionGroup var access: QueueServerOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
      try checkRange(of: "--concurrency", concurrency, 1...64)
      try UploadCommand.check(wait: wait)
    }

    func run() async throws {
      try await common.run { terminal in
        try access.insecure.check(
          ["--endpoint": access.store.endpoint, "--token-service": access.store.tokenService], terminal)
        let items = try access.queue.open()
        let server = try access.store.serverInUse(items)
        if access.store.endpoint == nil { try access.insecure.check(server, terminal) }
        let uploads = try access.store.queue(items, at: server, concurrency: concurrency, waitsForLock: false)
        for other in try items.serversInUse() where other != server.url {
          terminal.whisper("Items for \(other) wait; this program uploads to \(server.url).")
        }
        let sources = SegmentSources(items)
        if once {
          // Before the first look at what is left.
          await sources.run(isRepeated: false) { problem in
            terminal.happened(problem.printable, "problem", ["error": .string(problem)])
          }
        }
        let follower = UploadFollower(
          items, uploads, terminal, limit: wait.map { .seconds($0) }, sources: sources)
        let role = Role { [once] in try await follower.run(once: once) }
        try await runUntilStopped(
          [role, UploadWaker(uploads, metered)] + metrics.server(terminal) { await UploadReport(of: uploads).metrics })
      }
    }
  }
}
