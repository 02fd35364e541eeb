/// Functions that choose the phone for a request: the same phones give the same choice.
///
/// Phones whose model is ready come first, then those that have sent no status, then the others; such a phone may be ready
/// by now, and otherwise its reply contains the reason. Within a class the free phone with the lowest cost is chosen, and
/// then the one with a free slot. When no phone of the class has one the request waits: a phone without a model is never used because the one with a model
/// is busy.
///
/// ```swift
/// let near = Router.Candidate(id: PhoneID("near"), isReady: true, modelState: "ready", rssi: -40)
/// let far = Router.Candidate(id: PhoneID("far"), isReady: true, modelState: "ready", rssi: -90)
/// print(Router.choose(from: [near, far]) == .phone(near.id))  // true
/// ```
public enum Router {
  /// The properties of one phone that decide the choice.
  public struct Candidate: Sendable, Hashable {
    /// The requests that a phone has at a time.
    public struct Load: Sendable, Hashable {
      /// The number of requests whose callers wait; these use the slots of the phone.
      public var pending: Int
      /// The number of cancelled requests on which the phone still works.
      public var abandoned: Int

      /// Creates a load from its numbers.
      public init(pending: Int = 0, abandoned: Int = 0) {
        self.pending = pending
        self.abandoned = abandoned
      }
    }

    /// The identifier of the phone.
    public var id: PhoneID
    /// The number of requests that the phone may have at a time, 1 or more.
    public var slots: Int
    /// A Boolean value that indicates whether the phone is connected and subscribed.
    public var isReady: Bool
    /// The model state of the phone as sent; `nil` before its first status.
    public var modelState: String?
    /// The requests that the phone has.
    public var load: Load
    /// The battery level in percent, 0 to 100; `nil` when unknown, which counts as external power.
    public var batteryPct: Int?
    /// The signal strength in dBm; `nil` when unknown, which counts as −60.
    public var rssi: Int?

    /// Creates a candidate from its properties.
    public init(
      id: PhoneID, isReady: Bool, modelState: String?, load: Load = Load(), batteryPct: Int? = nil, rssi: Int? = nil
    ) {
      self.id = id
      slots = 1
      self.isReady = isReady
      self.modelState = modelState
      self.load = load
      self.batteryPct = batteryPct
      self.rssi = rssi
    }
  }

  /// The destination that the router chose for a request.
  public enum Choice: Sendable, Hashable {
    /// The phone for the request.
    case phone(PhoneID)
    /// No phone yet: every suitable phone is busy.
    case wait
    /// No phone: none is connected and subscribed.
    case none
  }

  /// Returns the cost of a phone; the phone with the lowest cost is preferred.
  ///
  /// The terms are those of the mesh router of EdgeCoder: 20 for each request, 0.5 for each missing percent of battery,
  /// and 0.5 for each dB below −30 dBm, at most 30.
  public static func cost(_ candidate: Candidate) -> Double {
    let load = Double(candidate.load.pending + candidate.load.abandoned) * 20
    let battery = candidate.batteryPct.map { Double(100 - $0) * 0.5 } ?? 0
    let signal = min(30, max(0, Double(-(candidate.rssi ?? -60) - 30) * 0.5))
    return load + battery + signal
  }

  /// Returns the phone for a request.
  ///
  /// A phone without a request comes before one that has some: requests that a phone has cannot go to another one.
  /// - Parameter candidates: All known phones.
  public static func choose(from candidates: [Candidate]) -> Choice {
    let order = order(candidates).filter(\.isReady)
    guard let best = order.first else { return .none }
    let suitable = order.filter { rank($0) == rank(best) && $0.load.pending < max(1, $0.slots) }
    let free = suitable.first { $0.load.pending == 0 } ?? suitable.first
    return free.map { .phone($0.id) } ?? .wait
  }

  /// Returns the candidates, the best first: by readiness, model state, cost, and identifier.
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
