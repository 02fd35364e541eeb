import BlueZ

/// Reads one attribute after the other, within a limit of time for all of them.
struct AttributeReader {
  /// Flags with which a characteristic can be read, if only over a secure link.
  static let readable: CharacteristicFlags = [.read, .encryptRead, .encryptAuthenticatedRead, .secureRead]

  /// The most time for one attribute; a peer that says nothing longer than that will not answer.
  private static let limit = Duration.seconds(10)

  /// `nil` when nothing is to be read.
  private let deadline: ContinuousClock.Instant?
  private(set) var unread = 0

  init(timeout: Duration?) {
    deadline = timeout.map { ContinuousClock.now + $0 }
  }

  /// Reads a value, or says why it could not be read.
  /// - Returns: `nil` when nothing is to be read, or no time is left.
  /// - Throws: `BlueZError` when the link is gone, and reading goes no further; `CancellationError`.
  mutating func read(_ body: (Duration) async throws -> [UInt8]) async throws -> Inspection.Reading? {
    guard let deadline else { return nil }
    try Task.checkCancellation()
    let left = ContinuousClock.now.duration(to: deadline)
    guard left > .zero else {
      unread += 1
      return nil
    }
    do {
      return .value(try await body(min(left, Self.limit)))
    } catch let error as BlueZError {
      if [.notConnected, .staleHandle, .serviceUnavailable].contains(error.code) { throw error }
      return .refused(error.underlying?.message ?? error.code.description)
    }
  }
}
