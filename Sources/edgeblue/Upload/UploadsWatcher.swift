import Foundation
import Timing
import Uploads

/// How a queue gets on at one moment, whichever program uploads it.
struct UploadsNow {
  var totals = QueueStore.Totals()
  /// The items under way, and how many bytes of each were sent.
  var running: [UploadItem] = []
  var sent: [Int64: Int64] = [:]
  /// Over the last few seconds; `nil` until there are two moments.
  var bytesPerSecond: Double?
  /// Who uploads it; `nil` when nobody does.
  var uploader: QueueUploader?

  /// How many items are to go.
  var count: Int { (totals.items[.waiting] ?? 0) + (totals.items[.uploading] ?? 0) }

  /// Their bytes that were not sent yet.
  var bytesLeft: Int64 {
    let done = running.reduce(Int64(0)) { $0 + min(sent[$1.id] ?? 0, $1.request.content.size) }
    return max((totals.bytes[.waiting] ?? 0) + (totals.bytes[.uploading] ?? 0) - done, 0)
  }

  /// For programs.
  var json: [String: JSON] {
    let items = running.map { item in
      JSON.object([
        "id": .number(Int(item.id)), "key": .string(item.request.key), "size": .number(Int(item.request.content.size)),
        "sent": .number(Int(sent[item.id] ?? 0)),
      ])
    }
    let speed = bytesPerSecond ?? 0
    return [
      "toGo": .number(count), "bytesLeft": .number(Int(bytesLeft)), "bytesPerSecond": .number(Int(speed)),
      "secondsLeft": JSON(speed > 0 ? Int(min(Double(bytesLeft) / speed, 1e9)) : nil), "running": .list(items),
      "failed": .number(totals.items[.failed] ?? 0), "uploader": JSON(uploader?.processID.map { Int($0) }),
    ]
  }
}

/// Looks at a queue again and again.
struct UploadsLook {
  /// How far back the speed is measured: 5 s.
  private static let span = Duration.seconds(5)

  private var samples: [(at: ContinuousClock.Instant, bytes: Int64)] = []

  /// How it is now.
  mutating func look(at store: QueueStore) throws -> UploadsNow {
    let uploader = try store.uploader
    note(uploader?.sentBytes)
    let running = try (uploader?.running ?? [:]).keys.sorted().compactMap { try store.item($0) }
    return UploadsNow(
      totals: try store.totals(seenWith: uploader), running: running.filter { $0.state == .uploading },
      sent: uploader?.running ?? [:], bytesPerSecond: bytesPerSecond, uploader: uploader)
  }

  /// Another program counts from zero.
  private mutating func note(_ bytes: Int64?) {
    let now = ContinuousClock.now
    guard let bytes, bytes >= samples.last?.bytes ?? 0 else { return samples = [] }
    samples.append((now, bytes))
    samples.removeAll { $0.at < now - Self.span }
  }

  private var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, first.at < last.at else { return nil }
    return Double(last.bytes - first.bytes) / (first.at.duration(to: last.at) / .seconds(1))
  }
}

/// Shows how a queue gets on that another program uploads, or nobody.
struct UploadsWatcher: Sendable {
  private let store: QueueStore
  private let terminal: Terminal

  /// How often it looks: 500 ms.
  private static let frame = Duration.milliseconds(500)
  /// How many events it looks at.
  private static let eventLimit = 20

  init(_ store: QueueStore, _ terminal: Terminal) {
    self.store = store
    self.terminal = terminal
  }

  /// Shows it until the task is cancelled: in a terminal over and over, elsewhere when something has changed.
  func run() async throws {
    var screen = LiveScreen()
    var look = UploadsLook()
    var shown = ""
    while true {
      let now = try look.look(at: store)
      let lines = UploadText.live(
        now, notes: try Self.notes(store, now.totals, now.uploader), events: try store.events(limit: Self.eventLimit))
      let text = terminal.json ? JSON.object(now.json).text : lines.joined(separator: "\n")
      if terminal.isLive {
        Output.write(screen.frame(lines))
      } else if text != shown {
        shown = text
        if terminal.json { terminal.print(json: .object(now.json)) }
        terminal.say(text)
      }
      try await Task.sleep(for: Self.frame, clock: .steady)
    }
  }

  /// What else is to be known: whether somebody uploads it, and whether a person holds it.
  static func notes(
    _ store: QueueStore, _ totals: QueueStore.Totals, _ uploader: QueueUploader?
  ) throws -> [String] {
    var notes: [String] = []
    if try store.isPaused { notes.append("all of it is held; `edgeblue uploads resume` lets it go on") }
    if uploader == nil, totals.items[.waiting] != nil {
      notes.append("nobody uploads it at the moment; `edgeblue uploads run` does")
    }
    return notes
  }
}
