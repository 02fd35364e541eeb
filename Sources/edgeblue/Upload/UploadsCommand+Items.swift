import ArgumentParser
import Uploads

/// An item of the queue that the command line names.
struct ItemArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The number of the item.", valueName: "id")) var id: Int64
  @OptionGroup var queue: QueueOptions

  func open() throws -> (store: QueueStore, item: UploadItem) {
    let store = try queue.openForItems()
    return (store, try Self.find(id, in: store))
  }

  /// Returns the item in a copy of the queue.
  func look() throws -> (store: QueueStore, item: UploadItem) {
    let store = try queue.look()
    return (store, try Self.find(id, in: store))
  }

  static func find(_ id: Int64, in store: QueueStore) throws -> UploadItem {
    guard let item = try store.item(id) else {
      throw Failure(
        "item \(id) was not found in the queue", hint: "`edgeblue uploads list --all` lists the items",
        status: .badInput)
    }
    return item
  }
}

/// The part of the queue that a command pauses or resumes.
struct PauseArguments: ParsableArguments {
  @Argument(help: ArgumentHelp("The number of the item. Default: the whole queue.", valueName: "id")) var id: Int64?
  @OptionGroup var queue: QueueOptions

  func setPaused(_ isPaused: Bool, _ terminal: Terminal) throws {
    guard let id else {
      // A pause is kept for the items to come, so that it needs a queue; the end of one does not.
      try (isPaused ? queue.open() : queue.openIfExists())?.setPaused(isPaused)
      return terminal.changed(isPaused: isPaused)
    }
    let store = try queue.openForItems()
    _ = try ItemArgument.find(id, in: store)
    try isPaused ? store.pause(id) : store.resume(id)
    terminal.changed(try ItemArgument.find(id, in: store))
  }
}

extension UploadsCommand {
  /// `edgeblue uploads retry`
  struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry", abstract: "Retry an item now, or all failed items.")

    @Argument(help: ArgumentHelp("The number of the item. Default: all failed items.", valueName: "id")) var id: Int64?
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.openForItems()
        let ids = if let id { [id] } else { try store.items(in: [.failed]).map(\.id) }
        for id in ids {
          _ = try ItemArgument.find(id, in: store)
          try store.retry(id)
          terminal.changed(try ItemArgument.find(id, in: store))
        }
        terminal.say(ids.isEmpty ? "there are no failed items" : "\(ids.count) queued again")
      }
    }
  }

  /// `edgeblue uploads pause`
  struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "pause", abstract: "Pause an item, or the whole queue, until `resume`.")

    @OptionGroup var part: PauseArguments
    @OptionGroup var common: CommonOptions

    func run() async throws { try await common.run { try part.setPaused(true, $0) } }
  }

  /// `edgeblue uploads resume`
  struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resume", abstract: "Resume a paused item, or the whole queue.")

    @OptionGroup var part: PauseArguments
    @OptionGroup var common: CommonOptions

    func run() async throws { try await common.run { try part.setPaused(false, $0) } }
  }

  /// `edgeblue uploads drop`
  struct Drop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "drop",
      abstract: "Remove an item from the queue. Its file and its object on the server stay; parts of it are removed.")

    @OptionGroup var item: ItemArgument
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let (store, dropped) = try item.open()
        try store.drop(dropped.id)
        if terminal.json { terminal.print(json: .object(dropped.json.merging(["state": "dropped"]) { $1 })) }
      }
    }
  }

  /// `edgeblue uploads forget`
  struct Forget: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "forget",
      abstract: "Forget a folder of recordings, for example one that is gone.",
      discussion: """
        Its segments are no longer queued, until `edgeblue record --upload` records into it again. What is queued stays \
        queued, and the folder stays as it is.
        """)

    @Argument(help: ArgumentHelp("The folder, as a problem names it.", valueName: "folder"), completion: .directory)
    var folder: String
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.openForItems()
        let path = SegmentRequests.absolute(folder)
        let known = try store.sources().map(\.folder)
        guard let found = known.first(where: { $0 == folder || SegmentRequests.absolute($0) == path }) else {
          throw Failure(
            "the queue knows no folder of recordings \(path.printable)",
            hint: known.isEmpty ? nil : "it knows " + known.map(\.printable).joined(separator: ", "), status: .badInput)
        }
        try store.forgetSource(found)
        if terminal.json { terminal.print(json: .object(["folder": .string(found), "state": "forgotten"])) }
      }
    }
  }
}

extension Terminal {
  /// Prints an item after a change, in JSON mode.
  fileprivate func changed(_ item: UploadItem) {
    if json { print(json: .object(item.json)) }
  }

  /// Prints whether the whole queue is paused, in JSON mode.
  fileprivate func changed(isPaused: Bool) {
    if json { print(json: .object(["paused": .bool(isPaused)])) }
  }
}
