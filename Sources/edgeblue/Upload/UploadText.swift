import Foundation
import Uploads

/// The queue in words.
enum UploadText {
  /// What goes on, as lines that are drawn over.
  static func live(
    _ status: UploadQueue.Status, _ totals: QueueStore.Totals, _ running: [UploadItem], _ speed: Double?,
    _ events: [UploadEvent] = []
  ) -> [String] {
    let left = (totals.bytes[.waiting] ?? 0) + (totals.bytes[.uploading] ?? 0) - status.running.values.reduce(0, +)
    let count = (totals.items[.waiting] ?? 0) + (totals.items[.uploading] ?? 0)
    var head = "\(count) to go, \(Amounts.bytes(Int(max(left, 0))))"
    if let speed, speed > 0 {
      head += "; \(Amounts.bytes(Int(speed)))/s, \(duration(Double(max(left, 0)) / speed)) left"
    }
    let items = running.map { item in
      let (done, size) = (status.running[item.id] ?? 0, item.request.content.size)
      let percent = size > 0 ? Int(done * 100 / size) : 100
      return "  \("\(percent) %".padded(to: 7))\(item.request.key.printable)"
    }
    let problems = status.credentialProblems.sorted { $0.key < $1.key }
      .map { "  account \($0.key.printable) has no credentials: \($0.value.printable)" }
    let elsewhere = status.isElsewhere ? ["  another program uploads this queue"] : []
    let failures = events.filter { [.failed, .gaveUp].contains($0.kind) }.suffix(3).map { "  " + line($0) }
    return [head] + items + elsewhere + problems + failures + (status.problem.map { ["  \($0.printable)"] } ?? [])
  }

  /// One item in a line.
  static func line(_ item: UploadItem) -> String {
    let state = item.state == .waiting && item.attempts > 0 ? "waiting (\(item.attempts))" : item.state.rawValue
    return "\("\(item.id)".padded(to: 7))\(state.padded(to: 14))"
      + "\(Amounts.bytes(Int(item.request.content.size)).padded(to: 11))"
      + "\(item.request.bucket)/\(item.request.key)".printable + (item.problem.map { "  — \($0.printable)" } ?? "")
  }

  /// One item with all that is known.
  static func lines(_ item: UploadItem) -> [String] {
    let request = item.request
    let rows: [(String, String?)] = [
      ("item", "\(item.id)"), ("state", item.state.rawValue), ("object", "\(request.bucket)/\(request.key)"),
      ("account", request.account), ("file", request.content.path), ("sidecar", request.sidecar),
      ("size", "\(request.content.size) bytes"), ("SHA-256", request.content.sha256),
      ("afterwards", request.afterwards.rawValue), ("queued", Terminal.clock(atMs: item.queuedAtMs)),
      ("failed", item.attempts > 0 ? "\(item.attempts) times" : nil),
      ("next attempt", item.nextAttemptAtMs.map(Terminal.clock(atMs:))),
      ("ended", item.endedAtMs.map(Terminal.clock(atMs:))), ("problem", item.problem),
      ("parts", item.uploadID == nil ? nil : "\(item.parts.count) are there"),
    ]
    return rows.compactMap { name, value in value.map { "\(name.padded(to: 14))\($0.printable)" } }
  }

  private static func duration(_ seconds: Double) -> String {
    let seconds = Int(min(seconds, 1e9))
    return seconds < 60 ? "\(seconds) s" : seconds < 3600 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }
}

extension UploadItem {
  /// The item for programs.
  var json: [String: JSON] {
    [
      "id": .number(Int(id)), "state": .string(state.rawValue), "bucket": .string(request.bucket),
      "key": .string(request.key), "account": .string(request.account), "path": .string(request.content.path),
      "size": .number(Int(request.content.size)), "sha256": .string(request.content.sha256),
      "attempts": .number(attempts), "queuedAtMs": .number(Int(queuedAtMs)),
      "nextAttemptAtMs": JSON(nextAttemptAtMs.map { Int($0) }), "endedAtMs": JSON(endedAtMs.map { Int($0) }),
      "problem": JSON(problem), "failure": JSON(failure?.rawValue), "partsUploaded": .number(parts.count),
    ]
  }
}
