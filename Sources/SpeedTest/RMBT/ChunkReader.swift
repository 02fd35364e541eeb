/// A reader of chunks that arrive in pieces of any length; it looks at the marker at the end of each chunk alone.
///
/// The marker is found by its position, never by its value: payload may contain any byte.
package struct ChunkReader: Sendable, Hashable {
  /// The size of a chunk in bytes.
  package let size: Int
  /// The number of bytes received so far.
  package private(set) var total: UInt64 = 0
  /// The number of complete chunks received so far.
  package private(set) var chunks = 0
  private var position = 0

  /// Creates a reader of chunks of a size in bytes.
  package init(size: Int) { self.size = size }

  /// Counts the first bytes of the first chunk, fewer than a chunk has.
  mutating func begin(with count: Int) {
    position = count
    total = UInt64(count)
  }

  /// The number of bytes before the next marker, which need not be looked at.
  package var skippable: Int { size - 1 - position }

  /// Counts bytes before the next marker that were dropped on the way here, at most ``skippable``.
  package mutating func skip(_ count: Int) {
    position += count
    total += UInt64(count)
  }

  /// Reads bytes up to the end of the last chunk.
  /// - Parameters:
  ///   - bytes: The bytes that arrived.
  ///   - offset: The number of bytes consumed so far, which is advanced.
  /// - Returns: `true` when the last chunk is complete.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply` for a chunk whose marker is neither 0x00 nor 0xFF.
  package mutating func read(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) throws(SpeedTestError) -> Bool {
    while offset < bytes.count {
      let count = min(size - position, bytes.count - offset)
      offset += count
      position += count
      total += UInt64(count)
      guard position == size else { break }
      position = 0
      chunks += 1
      switch bytes[offset - 1] {
      case RMBT.moreMarker: continue
      case RMBT.lastMarker: return true
      case let marker:
        throw SpeedTestError(
          .invalidReply, "chunk \(chunks) ends with \(marker); allowed: 0 for another chunk, 255 for the last one")
      }
    }
    return false
  }
}
