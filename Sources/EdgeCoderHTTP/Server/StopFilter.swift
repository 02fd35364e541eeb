/// A filter that passes text up to the first stop sequence.
///
/// The text arrives in pieces. Text that may be the start of a sequence is held back until that is decided.
struct StopFilter: Sendable {
  /// A sequence, and the length of its prefix at the end of the text (Knuth, Morris and Pratt: each byte is read once).
  private struct Matcher: Sendable {
    private let sequence: [UInt8]
    /// The next shorter matching length for each matching length.
    private let fallback: [Int]
    private(set) var matched = 0

    init(_ sequence: [UInt8]) {
      self.sequence = sequence
      var fallback = [0]
      var length = 0
      for byte in sequence.dropFirst() {
        while length > 0, sequence[length] != byte { length = fallback[length - 1] }
        if sequence[length] == byte { length += 1 }
        fallback.append(length)
      }
      self.fallback = fallback
    }

    var isComplete: Bool { matched == sequence.count }

    mutating func take(_ byte: UInt8) {
      while matched > 0, sequence[matched] != byte { matched = fallback[matched - 1] }
      if sequence[matched] == byte { matched += 1 }
    }
  }

  private var matchers: [Matcher]
  private var held: [UInt8] = []
  /// A Boolean value that indicates whether a sequence was found; later text is dropped.
  private(set) var isStopped = false

  init(_ stops: [String]) { matchers = stops.filter { !$0.isEmpty }.map { Matcher(Array($0.utf8)) } }

  /// Filters the next piece of text.
  /// - Returns: The text that may be sent now.
  mutating func filter(_ text: String) -> String {
    guard !isStopped else { return "" }
    for byte in text.utf8 {
      held.append(byte)
      var longest = 0
      for index in matchers.indices {
        matchers[index].take(byte)
        if matchers[index].isComplete { longest = max(longest, matchers[index].matched) }
      }
      if longest > 0 {
        isStopped = true
        held.removeLast(longest)
        return finish()
      }
    }
    // A sequence starts with a whole character, so the passed text ends with one.
    let beginning = matchers.map(\.matched).max() ?? 0
    defer { held.removeFirst(held.count - beginning) }
    return String(decoding: held.dropLast(beginning), as: UTF8.self)
  }

  /// Returns the text that was held back, at the end of the text.
  mutating func finish() -> String {
    defer { held = [] }
    return String(decoding: held, as: UTF8.self)
  }
}
