/// Keeps an account's credentials: fetches them, before they expire too, and numbers each new set.
struct CredentialsKeeper: Sendable {
  let provider: any CredentialsProvider
  private(set) var current: S3Credentials?
  /// 0 while there were none.
  private(set) var generation = 0
  /// Why there are none, or no newer ones.
  private(set) var problem: String?
  /// Whether they are being fetched.
  private(set) var isFetching = false
  /// When they are to be fetched next; `nil` for when somebody asks.
  private(set) var due: Duration? = .zero

  /// How soon it is tried again to get credentials: 30 s.
  static let pause = Duration.seconds(30)
  /// How long before they expire others are fetched: 5 min, or a tenth of what is left of short ones.
  static let margin = Duration.seconds(300)

  init(_ provider: any CredentialsProvider) { self.provider = provider }

  /// Whether they are to be fetched now; then they are being fetched.
  mutating func takeDue(at now: Duration) -> Bool {
    guard !isFetching, let due, due <= now else { return false }
    isFetching = true
    self.due = nil
    return true
  }

  /// Has them fetched at once: those with this number are not taken.
  mutating func expire(_ number: Int, at now: Duration) {
    if number == generation { due = min(due ?? now, now) }
  }

  /// Takes what was fetched.
  /// - Parameters:
  ///   - refused: the number of those that the server does not take.
  ///   - unixMs: the wall clock.
  mutating func take(
    _ result: Result<S3Credentials, UploadsError>, refused: Int, at now: Duration, unixMs: Int64
  ) {
    isFetching = false
    switch result {
    case .failure(let error):
      // That there are none is said by whoever asks.
      problem = error.code == .noCredentials ? error.message + (error.hint.map { " (\($0))" } ?? "") : error.description
      due = now + Self.pause
    case .success(let new):
      problem = nil
      if new != current {
        current = new
        generation += 1
      }
      due = new.expiresAtMs.map { expiry in
        let left = Duration.milliseconds(max(expiry - unixMs, 0))
        return now + max(left - min(Self.margin, left / 10), .seconds(1))
      }
      // The source has no others yet: it is asked from time to time.
      if generation == refused { due = min(due ?? now + Self.pause, now + Self.pause) }
    }
  }
}
