internal import Streams
internal import Timing

/// The model that an engine has chosen among those of its server, so that a prompt does not wait for the list.
///
/// A choice that is older than ten seconds is used once more while the list is read again beside the prompt.
final class ModelChoice: Sendable {
  private struct State {
    /// The chosen model, which is `nil` for a server that lists none, and the instant of the choice.
    var chosen: (model: String?, at: Duration)?
    var isRefreshing = false
  }

  /// The time for which a choice is used without another look: 10 s.
  private static let freshTime: Duration = .seconds(10)

  private let state = Lock(State())
  private let time: TimeSource

  init(time: TimeSource = .continuous) { self.time = time }

  /// Returns the model for a prompt.
  /// - Parameter choose: Asks the server.
  /// - Returns: The model, and `true` if the server was not asked for this prompt.
  /// - Throws: what `choose` throws.
  func model(
    _ choose: @escaping @Sendable () async throws -> String?
  ) async throws -> (model: String?, isRemembered: Bool) {
    let now = time.now
    let (known, refreshes) = state.withLock { state -> ((model: String?, at: Duration)?, Bool) in
      guard let known = state.chosen else { return (nil, false) }
      let refreshes = !state.isRefreshing && now - known.at > Self.freshTime
      if refreshes { state.isRefreshing = true }
      return (known, refreshes)
    }
    guard let known else {
      let model = try await choose()
      remember(model)
      return (model, false)
    }
    if refreshes { Task { await refresh(choose) } }
    return (known.model, true)
  }

  /// Forgets the choice, because the server has refused the model.
  func forget() { state.withLock { $0.chosen = nil } }

  private func refresh(_ choose: @Sendable () async throws -> String?) async {
    do {
      remember(try await choose())
    } catch {
      // The prompt beside it reports the fault of the server.
      forget()
    }
    state.withLock { $0.isRefreshing = false }
  }

  private func remember(_ model: String?) {
    let now = time.now
    state.withLock { $0.chosen = (model, now) }
  }
}
