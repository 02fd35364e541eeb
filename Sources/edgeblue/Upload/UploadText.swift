import Foundation
import JSONValues
import Uploads

/// Formats the queue for display.
enum UploadText {
  /// Returns the progress as lines that are redrawn.
  /// - Parameters:
  ///   - progress: the current progress.
  ///   - notes: further lines.
  ///   - events: the latest events, of which the last three failures are shown.
  static func live(_ progress: UploadsNow, notes: [String] = [], events: [UploadEvent] = []) -> [String] {
    var head = "\(progress.count) items, \(Amounts.bytes(Int(progress.bytesLeft)))"
    if let speed = progress.bytesPerSecond, speed > 0 {
      head += "; \(Amounts.bytes(Int(speed)))/s, \(duration(Double(progress.bytesLeft) / speed)) left"
    }
    if let failed = progress.totals.items[.failed] { head += "; \(failed) failed" }
    let items = progress.running.map { item in
      let done = progress.sent[item.id] ?? 0
      let size = item.request.content.size
      let percent = size > 0 ? Int(min(done, size) * 100 / size) : 100
      return "  \("\(percent) %".padded(to: 7))\(item.request.key.printable)"
    }
    let failures = events.filter { [.failed, .gaveUp, .credentialsMissing].contains($0.kind) }.suffix(3)
    let tail = notes.map { "  " + $0 } + failures.map { "  " + line($0) }
    let room = max(LiveScreen.height - 3 - tail.count, 1)
    let more = items.count > room ? ["  and \(items.count - room) more"] : []
    return [head] + items.prefix(room) + more + tail
  }

  /// Returns the problems of accounts and of the queue itself.
  static func notes(_ status: UploadQueue.Status) -> [String] {
    let accounts = status.credentialProblems.sorted { $0.key < $1.key }
    return (status.isUploadedElsewhere ? ["another program uploads this queue"] : [])
      + accounts.map { "account \($0.key.printable): \($0.value.printable)" }
      + [status.problem?.printable].compactMap { $0 }
  }

  /// Returns the number and size of items in each state.
  static func line(_ totals: QueueStore.Totals) -> String {
    let counts = UploadItem.State.allCases.compactMap { state in
      totals.items[state].map { "\($0) \(state.rawValue) (\(Amounts.bytes(Int(totals.bytes[state] ?? 0))))" }
    }
    return counts.isEmpty ? "nothing is queued" : counts.joined(separator: ", ")
  }

  /// Returns an item on one line, and below it the problem.
  /// - Parameter columns: The number of columns that the line fits, with the end of a long key; `nil` for whole keys.
  static func line(_ item: UploadItem, columns: Int? = nil) -> String {
    let state = item.state == .waiting && item.attempts > 0 ? "waiting (\(item.attempts))" : item.state.rawValue
    let start =
      "\("\(item.id)".padded(to: 7))\(state.padded(to: 14))"
      + Amounts.bytes(Int(item.request.content.size)).padded(to: 11)
    return line(start, "\(item.request.bucket)/\(item.request.key)", columns: columns)
      + (item.problem?.printable.lines(behind: String(repeating: " ", count: 7)) ?? []).map { "\n" + $0 }.joined()
  }

  /// Returns a line that ends with a key.
  /// - Parameter columns: The number of columns that it fits: of a long key the end is shown, which differs from that of
  ///   its neighbours; `nil` for whole keys.
  static func line(_ start: String, _ key: String, columns: Int?) -> String {
    start + key.printable.end(columns: columns.map { max($0 - start.columns, 20) })
  }

  /// Returns all fields of an item.
  static func lines(_ item: UploadItem) -> [String] {
    let request = item.request
    let rows: [(String, String?)] = [
      ("item", "\(item.id)"), ("state", item.state.rawValue), ("server", request.endpoint),
      ("object", "\(request.bucket)/\(request.key)"),
      ("account", request.account), ("file", request.content.path), ("sidecar", request.sidecar),
      ("size", "\(request.content.size) bytes"), ("SHA-256", request.content.sha256),
      ("afterwards", request.afterwards.rawValue), ("queued", Terminal.clock(atMs: item.queuedAtMs)),
      ("failed", item.attempts > 0 ? "\(item.attempts) times" : nil),
      ("next attempt", item.nextAttemptAtMs.map(Terminal.clock(atMs:))),
      ("ended", item.finishedAtMs.map(Terminal.clock(atMs:))), ("problem", item.problem),
      ("parts", item.uploadID == nil ? nil : "\(item.parts.count) uploaded"),
    ]
    return rows.flatMap { name, value -> [String] in
      guard let value = value?.printable else { return [] }
      let label = name.padded(to: 14)
      // Names and paths are not broken into lines: they are copied.
      return name == "problem" ? value.lines(behind: label) : [label + value]
    }
  }

  private static func duration(_ seconds: Double) -> String {
    let seconds = Int(min(seconds, 1e9))
    return seconds < 60 ? "\(seconds) s" : seconds < 3600 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }
}

extension UploadItem {
  /// The item in JSON.
  var json: [String: JSONValue] {
    [
      "id": .number(Int(id)), "state": .string(state.rawValue), "endpoint": JSONValue(request.endpoint),
      "bucket": .string(request.bucket),
      "key": .string(request.key), "account": .string(request.account), "path": .string(request.content.path),
      "size": .number(Int(request.content.size)), "sha256": .string(request.content.sha256),
      "attempts": .number(attempts), "queuedAtMs": .number(Int(queuedAtMs)),
      "nextAttemptAtMs": JSONValue(nextAttemptAtMs.map { Int($0) }),
      "endedAtMs": JSONValue(finishedAtMs.map { Int($0) }),
      "problem": JSONValue(problem), "failure": JSONValue(failure?.rawValue), "partsUploaded": .number(parts.count),
    ]
  }
}
