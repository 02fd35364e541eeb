/// Chooses the phone for a request. Pure: the same phones give the same choice.
///
/// Phones that say their model is ready come first, then those that have not said, then the rest (such a phone may be
/// ready by now; if not, its own reply says why). Within a class the cheapest free phone is chosen, and when all are
/// taken the request waits: a phone without a model is never used because the one with a model is busy.
public enum Router {
  /// What counts about one phone.
  public struct Candidate: Sendable, Hashable {
    /// The phone.
    public var id: PhoneID
    /// Whether its link is ready.
    public var isReady: Bool
    /// Its model state as it sent it; `nil` when it has not said.
    public var modelState: String?
    /// Requests in its hands that someone waits for; these take its places.
    public var pending: Int
    /// Requests it still works on although nobody waits for them any more.
    public var abandoned: Int
    /// Battery, 0–100; `nil` when unknown, which is taken for mains power.
    public var batteryPct: Int?
    /// Signal in dBm; `nil` when unknown, which is taken for −60.
    public var rssi: Int?

    /// Makes a candidate.
    public init(
      id: PhoneID, isReady: Bool, modelState: String?, pending: Int = 0, abandoned: Int = 0, batteryPct: Int? = nil,
      rssi: Int? = nil
    ) {
      self.id = id
      self.isReady = isReady
      self.modelState = modelState
      self.pending = pending
      self.abandoned = abandoned
      self.batteryPct = batteryPct
      self.rssi = rssi
    }
  }

  /// Where a request goes.
  public enum Choice: Sendable, Hashable {
    /// To this phone.
    case phone(PhoneID)
    /// Nowhere yet: every phone that would do has its hands full.
    case wait
    /// Nowhere: no link is ready.
    case none
  }

  /// How little a phone is liked; lower is better.
  ///
  /// The terms are those of EdgeCoder's own mesh router: 20 for each request in its hands, half a point for each
  /// percent of battery missing, and half a point for each dB below −30 dBm, at most 30.
  public static func cost(_ candidate: Candidate) -> Double {
    let load = Double(candidate.pending + candidate.abandoned) * 20
    let battery = candidate.batteryPct.map { Double(100 - $0) * 0.5 } ?? 0
    let signal = min(30, max(0, Double(-(candidate.rssi ?? -60) - 30) * 0.5))
    return load + battery + signal
  }

  /// Chooses a phone.
  /// - Parameters:
  ///   - candidates: all there are.
  ///   - places: the most requests a phone may have in its hands.
  public static func choose(from candidates: [Candidate], places: Int) -> Choice {
    let order = order(candidates).filter(\.isReady)
    guard let best = order.first else { return .none }
    let free = order.first { rank($0) == rank(best) && $0.pending < places }
    return free.map { .phone($0.id) } ?? .wait
  }

  /// The candidates, best first: ready links before others, then by model state, cost, and id.
  public static func order(_ candidates: [Candidate]) -> [Candidate] {
    candidates.sorted { left, right in
      if left.isReady != right.isReady { return left.isReady }
      if rank(left) != rank(right) { return rank(left) < rank(right) }
      if cost(left) != cost(right) { return cost(left) < cost(right) }
      return left.id < right.id
    }
  }

  private static func rank(_ candidate: Candidate) -> Int {
    switch candidate.modelState {
    case ModelState.ready.rawValue: 0
    case nil: 1
    default: 2
    }
  }
}
