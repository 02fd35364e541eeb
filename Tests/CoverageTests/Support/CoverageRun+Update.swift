import Coverage
import SystemTesting

extension CoverageRun {
  /// Waits for an update that has what a test wants.
  func update(_ isWanted: @escaping @Sendable (CoverageStatus) -> Bool) async throws -> CoverageStatus {
    try await within(.seconds(120)) {
      for await status in self.updates() where isWanted(status) { return status }
      throw CancellationError()
    }
  }
}
