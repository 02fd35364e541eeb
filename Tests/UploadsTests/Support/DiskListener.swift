@testable import Uploads

/// Hears of what may go, and can make no room.
struct DiskListener: DiskPolicy {
  let heard: @Sendable (UploadItem) async throws -> Void

  init(_ heard: @escaping @Sendable (UploadItem) async throws -> Void) { self.heard = heard }

  func letGo(_ item: UploadItem) async throws { try await heard(item) }
  func makeRoom() async throws -> Bool { false }
}
