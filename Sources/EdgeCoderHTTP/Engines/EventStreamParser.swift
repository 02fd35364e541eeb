/// Puts the lines of a `text/event-stream` together into events.
///
/// Only `data` matters to the engines: comments (`: keep-alive`), `event`, `id` and `retry` are passed over.
struct EventStreamParser: Sendable {
  private var data: [String] = []

  /// Takes one line in; returns the data of the event it ends, if it ends one.
  mutating func append(line: String) -> String? {
    if line.isEmpty { return takeEvent() }
    guard line.hasPrefix("data:") else { return nil }
    let value = line.dropFirst("data:".count)
    data.append(String(value.first == " " ? value.dropFirst() : value))
    return nil
  }

  /// The event that the end of the stream ends. The standard drops it; servers that forget the last empty line exist.
  mutating func finish() -> String? {
    takeEvent()
  }

  private mutating func takeEvent() -> String? {
    guard !data.isEmpty else { return nil }
    defer { data.removeAll() }
    return data.joined(separator: "\n")
  }
}
