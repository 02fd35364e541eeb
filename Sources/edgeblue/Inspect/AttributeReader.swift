import BlueZ

/// Reads attributes one after the other, within one timeout for all of them.
struct AttributeReader {
  /// The flags of characteristics that can be read, possibly only over an encrypted connection.
  static let readable: CharacteristicFlags = [.read, .encryptRead, .encryptAuthenticatedRead, .secureRead]

  /// The timeout for one attribute.
  private static let limit = Duration.seconds(10)

  /// The instant after which nothing is read; `nil` if values are not read at all.
  private let deadline: ContinuousClock.Instant?
  private(set) var unread = 0

  init(timeout: Duration?) {
    deadline = timeout.map { ContinuousClock.now + $0 }
  }

  /// Reads a value, or returns the reason why it could not be read.
  /// - Returns: `nil` if values are not read, or the timeout has passed.
  /// - Throws: `BlueZError` if the connection is lost; `CancellationError`.
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
