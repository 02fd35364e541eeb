import Streams
import Uploads

/// A disk policy that passes on what it is asked to release, and can free no space.
struct DiskListener: DiskPolicy {
  let onRelease: @Sendable (UploadItem) async throws -> Void

  init(_ onRelease: @escaping @Sendable (UploadItem) async throws -> Void) { self.onRelease = onRelease }

  func release(_ item: UploadItem) async throws { try await onRelease(item) }
  func freeSpace() async throws -> Bool { false }
}

extension Lock where State == Bool {
  /// Returns the value, and sets it to `false`.
  func take() -> Bool {
    withLock { value in
      defer { value = false }
      return value
    }
  }
}
