/// A parser that joins the lines of a `text/event-stream` to events.
///
/// Only `data` matters to the engines: comments (`: keep-alive`), `event`, `id` and `retry` are ignored.
struct EventStreamParser: Sendable {
  private var data: [String] = []

  /// Parses one line and returns the data of the event that it ends, if any.
  mutating func append(line: String) -> String? {
    if line.isEmpty { return takeEvent() }
    guard line.hasPrefix("data:") else { return nil }
    let value = line.dropFirst("data:".count)
    data.append(String(value.first == " " ? value.dropFirst() : value))
    return nil
  }

  /// Returns the event at the end of the stream. The standard drops it, but some servers omit the last empty line.
  mutating func finish() -> String? {
    takeEvent()
  }

  private mutating func takeEvent() -> String? {
    guard !data.isEmpty else { return nil }
    defer { data.removeAll() }
    return data.joined(separator: "\n")
  }
}
