extension Adapter {
  /// Provides GATT services while a body runs, and unregisters them whichever way it ends.
  ///
  /// ```swift
  /// let battery = LocalCharacteristic("2a19", .read, read: { _ in [100] })
  /// try await adapter.withServices([LocalService("180f", characteristics: [battery])]) { _ in
  ///   try await Task.sleep(for: .seconds(60))
  /// }
  /// ```
  /// - Parameters:
  ///   - services: The services to provide.
  ///   - isolation: The actor of the caller, on which the body runs.
  ///   - body: The work during the registration.
  /// - Throws: The errors of ``offer(_:)``, of the body, and of ``GATTApplication/unregister()``.
  public func withServices<R: Sendable>(
    _ services: [LocalService], isolation: isolated (any Actor)? = #isolation,
    _ body: (GATTApplication) async throws -> R
  ) async throws -> R {
    let application = try await offer(services)
    return try await core.scope(of: application.title, end: application.unregister) { try await body(application) }
  }
}
