extension SessionCore {
  /// Runs a body, and ends a registration whichever way the body ends; the error of the body counts.
  func scope<R: Sendable>(
    of title: String, isolation: isolated (any Actor)? = #isolation, end: () async throws -> Void,
    _ body: () async throws -> R
  ) async throws -> R {
    let result: R
    do {
      result = try await body()
    } catch {
      do {
        try await end()
      } catch let refusal {
        logger.info("\(title) was not ended", metadata: ["error": "\(refusal)"])
      }
      throw error
    }
    try await end()
    return result
  }
}
