import ArgumentParser
import Uploads

extension UploadsCommand {
  /// `edgeblue uploads list`
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the items that are not uploaded yet, oldest first.",
      discussion: """
        With --watch it continues, and prints running uploads, their speed, the estimated time left and the latest \
        failures, whichever program uploads the queue.
        """)

    @Flag(help: "List completed items too.") var all = false
    @Flag(help: "Continue, and print the progress, until Ctrl-C.") var watch = false
    @Flag(help: "Print whole keys at a terminal too, also where a line is longer than the terminal is wide.")
    var full = false
    @Option(help: ArgumentHelp("The limit of listed items.", valueName: "n")) var limit = 1000
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        guard watch else { return try list(queue.look(), terminal) }
        do {
          try await untilInterrupted { try await UploadsWatcher(terminal, look: queue.look).run() }
        } catch is CancellationError {
          // Ctrl-C ends --watch.
        }
      }
    }

    private func list(_ store: QueueStore, _ terminal: Terminal) throws {
      let uploader = try store.uploader
      let missing = try store.missingCredentials()
      let states = Set(UploadItem.State.allCases.filter { all || $0 != .done })
      for item in try store.items(in: states, limit: max(limit, 0)) {
        let item = item.as(seenWith: uploader, missing: missing)
        if terminal.json { terminal.print(json: .object(item.json)) }
        terminal.say(UploadText.line(item, columns: full ? nil : terminal.columns))
      }
      let totals = try store.totals(seenWith: uploader)
      // The folder may be another one than its user meant.
      let place = totals.items.isEmpty ? " in \(try queue.folder.printable)" : ""
      for line in [UploadText.line(totals) + place] + (try UploadsWatcher.notes(store, totals, uploader)) {
        for line in line.wrapped(to: terminal.columns ?? .max) { terminal.say(line) }
      }
    }
  }
}

extension UploadItem {
  /// Returns the item with its true state, and the reason for it: an item whose uploading program has ended is waiting,
  /// and one of an account without credentials waits for those.
  /// - Parameter missing: The reasons why accounts have no credentials.
  func `as`(seenWith uploader: QueueUploader?, missing: [String: String] = [:]) -> UploadItem {
    var item = self
    if state == .uploading, uploader?.running[id] == nil { item.state = .waiting }
    if item.state == .waiting, item.problem == nil {
      item.problem = missing[request.account].map { "the account \(request.account) waits for credentials: \($0)" }
    }
    return item
  }
}

extension QueueStore {
  /// Returns the totals with true states: see ``UploadItem/as(seenWith:)``.
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
