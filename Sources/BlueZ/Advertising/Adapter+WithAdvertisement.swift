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
    let result: R
    do {
      result = try await body(advertisement)
    } catch {
      do {
        try await advertisement.stop()
      } catch let refusal {
        // The error of the body counts.
        core.logger.info("\(advertisement.title) was not stopped", metadata: ["error": "\(refusal)"])
      }
      throw error
    }
    try await advertisement.stop()
    return result
  }
}
