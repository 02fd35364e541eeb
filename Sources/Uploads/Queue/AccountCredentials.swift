/// The state machine that decides when the credentials of one account are fetched, and numbers each new set.
struct AccountCredentials: Sendable {
  /// The events that the machine handles.
  enum Event: Sendable {
    /// The server refused the credentials of this generation.
    case refused(generation: Int)
    /// A fetch has finished.
    /// - Parameters:
    ///   - refused: The generation that the server refuses, if any.
    ///   - unixMs: The wall-clock time, by which credentials expire.
    case fetched(Result<S3Credentials, UploadsError>, refused: Int?, unixMs: Int64)
    /// Time has passed.
    case tick
  }

  /// The actions that the queue performs for the machine.
  enum Action: Sendable, Hashable {
    /// Fetch the credentials, and report the result as ``Event/fetched(_:refused:unixMs:)``.
    case fetch
  }

  private enum Fetch: Hashable {
    /// The credentials are fetched again when the server refuses them.
    case onDemand
    case due(Duration)
    case inProgress
  }

  /// The delay before the next fetch while there are no accepted credentials: 30 s.
  static let retryDelay = Duration.seconds(30)
  /// The time before they expire at which credentials are replaced: 5 min, or a tenth of a shorter lifetime.
  static let margin = Duration.seconds(300)

  let provider: any CredentialsProvider
  private(set) var current: S3Credentials?
  /// The number of the current set; 0 before the first.
  private(set) var generation = 0
  /// The reason for display why there are no credentials, or no newer ones.
  private(set) var problem: String?
  private var fetch = Fetch.due(.zero)
  /// The last generation that was fetched again because the server refused it, and the instant of the last fetch.
  private var refused: (generation: Int, fetchedAt: Duration) = (0, .zero)

  init(_ provider: any CredentialsProvider) { self.provider = provider }

  /// The instant of the next fetch; `nil` while one is in progress, and when only a refusal starts one.
  var due: Duration? { if case .due(let instant) = fetch { instant } else { nil } }

  /// Handles an event.
  /// - Returns: The actions to perform, in order.
  mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    switch event {
    case .refused(let generation):
      guard generation == self.generation, fetch != .inProgress else { return [] }
      // At once, and as often as missing ones from then on: many items may be refused one after the other.
      let next = generation == refused.generation ? max(refused.fetchedAt + Self.retryDelay, now) : now
      refused.generation = generation
      fetch = .due(min(due ?? next, next))
    case .fetched(.failure(let error), _, _):
      refused.fetchedAt = now
      // The code would only repeat that there are none.
      problem = error.code == .noCredentials ? error.message + (error.hint.map { " (\($0))" } ?? "") : error.description
      fetch = .due(now + Self.retryDelay)
    case .fetched(.success(let new), let refused, let unixMs):
      self.refused.fetchedAt = now
      problem = nil
      if new != current {
        current = new
        generation += 1
      }
      fetch = next(after: new, isRefused: generation == refused, at: now, unixMs: unixMs)
    case .tick:
      guard let due, due <= now else { return [] }
      fetch = .inProgress
      return [.fetch]
    }
    return []
  }

  private func next(after new: S3Credentials, isRefused: Bool, at now: Duration, unixMs: Int64) -> Fetch {
    let replacement = new.expiresAtMs.map { expiry in
      let left = Duration.milliseconds(max(expiry - unixMs, 0))
      return now + max(left - min(Self.margin, left / 10), .seconds(1))
    }
    // The provider has no newer ones yet.
    let retry = isRefused ? now + Self.retryDelay : nil
    return [replacement, retry].compactMap { $0 }.min().map { .due($0) } ?? .onDemand
  }
}
