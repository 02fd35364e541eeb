extension Adapter {
  /// Advertises while a body runs, and stops whichever way it ends.
  ///
  /// ```swift
  /// try await adapter.withAdvertisement(.init(name: "Lamp", services: ["180f"])) { _ in
  ///   try await Task.sleep(for: .seconds(60))
  /// }
  /// ```
  /// - Parameters:
  ///   - content: The content to advertise.
  ///   - parameters: The parameters, and the fallbacks that are permitted.
  ///   - isolation: The actor of the caller, on which the body runs.
  ///   - body: The work during the advertisement.
  /// - Throws: The errors of ``advertise(_:_:)``, of the body, and of ``Advertisement/stop()``.
  public func withAdvertisement<R: Sendable>(
    _ content: Advertisement.Content, _ parameters: Advertisement.Parameters = Advertisement.Parameters(),
    isolation: isolated (any Actor)? = #isolation, _ body: (Advertisement) async throws -> R
  ) async throws -> R {
    let advertisement = try await advertise(content, parameters)
    return try await core.scope(of: advertisement.title, end: advertisement.stop) { try await body(advertisement) }
  }
}
