/// Passes text on up to the first of the stop sequences, which phones know nothing of.
///
/// The text comes in pieces. What may be the beginning of a sequence is held back until it is known not to be one.
struct StopFilter: Sendable {
  /// A sequence, and how much of it the text so far ends with (Knuth, Morris and Pratt: each byte is looked at once).
  private struct Matcher: Sendable {
    private let sequence: [UInt8]
    /// For each length that is matched, the next shorter one that is as well.
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
  /// Whether a sequence came; nothing passes any more.
  private(set) var isStopped = false

  init(_ stops: [String]) { matchers = stops.filter { !$0.isEmpty }.map { Matcher(Array($0.utf8)) } }

  /// Takes more text.
  /// - Returns: what may pass now.
  mutating func take(_ text: String) -> String {
    guard !isStopped else { return "" }
    for byte in text.utf8 {
      held.append(byte)
      for index in matchers.indices { matchers[index].take(byte) }
      if let longest = matchers.filter(\.isComplete).map(\.matched).max() {
        isStopped = true
        held.removeLast(longest)
        return rest()
      }
    }
    // A sequence begins with a whole character, so what passes ends with one.
    let beginning = matchers.map(\.matched).max() ?? 0
    defer { held.removeFirst(held.count - beginning) }
    return String(decoding: held.dropLast(beginning), as: UTF8.self)
  }

  /// What was held back: the text is over.
  mutating func rest() -> String {
    defer { held = [] }
    return String(decoding: held, as: UTF8.self)
  }
}
