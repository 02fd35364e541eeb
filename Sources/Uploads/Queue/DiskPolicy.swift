/// Who answers for the disk that the files of uploads lie on, such as the recorder that makes them. It has the quota,
/// and says what goes when; the queue has none of its own and asks.
///
/// Both keep the same rules:
/// - A file that the server has not shown to have is never removed, whatever room that costs.
/// - When room is needed, what was delivered longest ago goes first.
/// - A full disk keeps nothing from being uploaded, as that is what makes room.
public protocol DiskPolicy: Sendable {
  /// The server has an item: its local files may go, now or when room is needed.
  ///
  /// It is told before the item is done. When it throws, it is told again when a queue next begins.
  func letGo(_ item: UploadItem) async throws

  /// The disk is full for the queue: removes what may go.
  /// - Returns: whether there is more room than before.
  func makeRoom() async throws -> Bool
}
