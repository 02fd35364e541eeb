/// The confirmations that one indication waits for. A value type: events in, actions out.
struct Confirmations {
  /// An event while an indication waits for its confirmations.
  enum Event: Sendable, Hashable {
    /// A central confirmed: the one behind a socket, or one that bluetoothd does not name.
    case confirmed(Int?)
    /// The central behind a socket left.
    case left(Int)
  }

  enum Action: Hashable {
    /// Wait for further confirmations.
    case wait
    /// Succeed: every central that is still connected has confirmed, or any, where bluetoothd does not name it.
    case finish
    /// Fail: every central left before it confirmed.
    case fail
  }

  private var missing: Set<Int>
  private var isConfirmed = false

  /// - Parameter links: The identifiers of the sockets that the value was written to.
  init(of links: [Int]) { missing = Set(links) }

  mutating func handle(_ event: Event) -> Action {
    switch event {
    case .confirmed(nil): return .finish
    case .confirmed(let link?): if missing.remove(link) != nil { isConfirmed = true }
    case .left(let link): missing.remove(link)
    }
    return missing.isEmpty ? (isConfirmed ? .finish : .fail) : .wait
  }
}
