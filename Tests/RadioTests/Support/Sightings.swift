import BlueZ
import Streams

extension BoundedStream where Element == Adapter.ScanResult {
  /// The first device in sight that is meant.
  func firstDevice(
    _ what: String, within limit: Duration = .seconds(60),
    where isMeant: @escaping @Sendable (Device) -> Bool = { _ in true }
  ) async throws -> Device {
    try await bounded(limit, what) {
      for await sighting in self where !sighting.isLost && isMeant(sighting.device) { return sighting.device }
      throw TestTimeout(phase: "the scan ended")
    }
  }
}
