/// The confirmations one indication waits for. A value type: events in, what came of it out.
struct Confirmations {
  /// What happens while an indication is on its way.
  enum Event: Sendable, Hashable {
    /// A central confirmed: the one behind a socket, or one bluetoothd does not name.
    case confirmed(Int?)
    /// The central behind a socket left.
    case left(Int)
  }

  enum Outcome: Hashable {
    case waiting
    /// Everyone who is still there has confirmed; or somebody has, where bluetoothd does not say who.
    case confirmed
    /// Everyone left before they confirmed.
    case abandoned
  }

  private var missing: Set<Int>
  private var isConfirmed = false

  /// - Parameter links: the numbers of the sockets the value was written to.
  init(of links: [Int]) { missing = Set(links) }

  mutating func receive(_ event: Event) -> Outcome {
    switch event {
    case .confirmed(nil): return .confirmed
    case .confirmed(let link?): if missing.remove(link) != nil { isConfirmed = true }
    case .left(let link): missing.remove(link)
    }
    return missing.isEmpty ? (isConfirmed ? .confirmed : .abandoned) : .waiting
  }
}
