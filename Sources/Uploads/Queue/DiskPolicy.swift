/// The owner of the disk that the uploaded files are on, such as a recorder with a quota.
///
/// The owner decides which files are removed and when; the queue has no quota of its own and calls the owner. Both keep
/// these rules:
/// - A file that the server has not proven to have is never removed, however little free space there is.
/// - When space is needed, the file that was delivered first is removed first.
/// - A full disk does not stop uploads, because uploading is what frees space.
public protocol DiskPolicy: Sendable {
  /// Releases the local files of an item that the server has: they may be removed, now or when space is needed.
  ///
  /// The queue calls it before the item is done. If it throws, the item stays `.delivered`, and the queue calls it again
  /// the next time it starts.
  func release(_ item: UploadItem) async throws

  /// Removes released files because the disk is full for the queue.
  /// - Returns: `true` if there is more free space than before.
  func freeSpace() async throws -> Bool
}
