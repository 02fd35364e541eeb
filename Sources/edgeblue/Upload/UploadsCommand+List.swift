import ArgumentParser
import Uploads

extension UploadsCommand {
  /// `edgeblue uploads list`
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Show what is not uploaded yet, the oldest first.",
      discussion: """
        With --watch it goes on and shows what is under way, how fast, how long it will take and what went wrong last, \
        whichever program uploads the queue.
        """)

    @Flag(help: "Also what is done.") var all = false
    @Flag(help: "Go on, and show how it gets on until Ctrl-C.") var watch = false
    @Option(help: ArgumentHelp("How many at most.", valueName: "n")) var limit = 1000
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let store = try queue.open()
        guard watch else { return try list(store, terminal) }
        do {
          try await untilInterrupted { try await UploadsWatcher(store, terminal).run() }
        } catch is CancellationError {
          // That is how watching ends.
        }
      }
    }

    private func list(_ store: QueueStore, _ terminal: Terminal) throws {
      let uploader = try store.uploader
      let states = Set(UploadItem.State.allCases.filter { all || $0 != .done })
      for item in try store.items(in: states, limit: max(limit, 0)) {
        let item = item.as(seenWith: uploader)
        if terminal.json { terminal.print(json: .object(item.json)) }
        terminal.say(UploadText.line(item))
      }
      let totals = try store.totals(seenWith: uploader)
      terminal.say(UploadText.line(totals))
      for note in try UploadsWatcher.notes(store, totals, uploader) { terminal.say(note) }
    }
  }
}

extension UploadItem {
  /// The item as it is: one that was under way when its program ended waits, until another one goes on with it.
  func `as`(seenWith uploader: QueueUploader?) -> UploadItem {
    var item = self
    if state == .uploading, uploader?.running[id] == nil { item.state = .waiting }
    return item
  }
}

extension QueueStore {
  /// The totals as they are: see ``UploadItem/as(seenWith:)``.
  func totals(seenWith uploader: QueueUploader?) throws -> Totals {
    var totals = try totals()
    for item in try items(in: [.uploading]) where item.as(seenWith: uploader).state == .waiting {
      totals.move(item, to: .waiting)
    }
    return totals
  }
}

extension QueueStore.Totals {
  fileprivate mutating func move(_ item: UploadItem, to state: UploadItem.State) {
    for (state, sign) in [(item.state, -1), (state, 1)] {
      items[state] = (items[state] ?? 0) + sign
      bytes[state] = (bytes[state] ?? 0) + Int64(sign) * item.request.content.size
      if items[state] == 0 {
        items[state] = nil
        bytes[state] = nil
      }
    }
  }
}
