import ArgumentParser
import Uploads

/// Which item.
struct ItemArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The item's number.", valueName: "id")) var id: Int64

  func find(in store: QueueStore) throws -> UploadItem { try Self.find(id, in: store) }

  static func find(_ id: Int64, in store: QueueStore) throws -> UploadItem {
    guard let item = try store.item(id) else {
      throw Failure("there is no item \(id)", hint: "`edgeblue uploads list --all` shows them", status: .badInput)
    }
    return item
  }
}

extension UploadsCommand {
  /// `edgeblue uploads retry`
  struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry", abstract: "Have an item tried again at once, or all that have failed.")

    @Argument(help: ArgumentHelp("The item; without it, all that have failed.", valueName: "id")) var id: Int64?
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.open()
        let ids = if let id { [id] } else { try store.items(in: [.failed]).map(\.id) }
        for id in ids {
          try store.retry(id)
          terminal.changed(try ItemArgument.find(id, in: store))
        }
        terminal.say(ids.isEmpty ? "nothing has failed" : "\(ids.count) to be tried again")
      }
    }
  }

  /// `edgeblue uploads pause`
  struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "pause", abstract: "Hold an item, or all of the queue, until `resume`.")

    @Argument(help: ArgumentHelp("The item; without it, all of the queue.", valueName: "id")) var id: Int64?
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.open()
        guard let id else {
          try store.setPaused(true)
          return terminal.changed(isPaused: true)
        }
        try store.pause(id)
        terminal.changed(try ItemArgument.find(id, in: store))
      }
    }
  }

  /// `edgeblue uploads resume`
  struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resume", abstract: "Let an item go on that is held, or all of the queue.")

    @Argument(help: ArgumentHelp("The item; without it, all of the queue.", valueName: "id")) var id: Int64?
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.open()
        guard let id else {
          try store.setPaused(false)
          return terminal.changed(isPaused: false)
        }
        try store.resume(id)
        terminal.changed(try ItemArgument.find(id, in: store))
      }
    }
  }

  /// `edgeblue uploads drop`
  struct Drop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "drop", abstract: "Forget an item. Its file stays, and so does what the server has.")

    @OptionGroup var item: ItemArgument
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.open()
        let dropped = try item.find(in: store)
        try store.drop(dropped.id)
        if terminal.json { terminal.print(json: .object(dropped.json.merging(["state": "dropped"]) { $1 })) }
      }
    }
  }
}

extension Terminal {
  /// For programs: what an item is after a person has changed something.
  fileprivate func changed(_ item: UploadItem) {
    if json { print(json: .object(item.json)) }
  }

  /// For programs: whether all of the queue is held.
  fileprivate func changed(isPaused: Bool) {
    if json { print(json: .object(["paused": .bool(isPaused)])) }
  }
}
