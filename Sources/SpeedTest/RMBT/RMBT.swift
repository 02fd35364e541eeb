/// The constants of the RMBT protocol.
package enum RMBT {
  /// The largest number of bytes in a line, without its line feed.
  package static let lineLimit = 1024
  /// The chunk sizes that a server accepts, in bytes.
  package static let chunkSizes = 4096...4_194_304
  /// The chunk size in bytes until a command selects another one.
  package static let defaultChunkSize = 4096
  /// The numbers of chunks that one GETCHUNKS may request.
  package static let chunkCounts = 1...300_000
  /// The durations in seconds that one GETTIME may request.
  package static let downloadSeconds = 1...30
  /// The version that our server announces: the features of the protocol, not the release of the program.
  package static let version = "1.6.0"
  /// The line that follows the greeting.
  package static let acceptToken = "ACCEPT TOKEN QUIT"
  /// The line that ends every command.
  package static let acceptCommands = "ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT"
  /// The last byte of a chunk that is followed by another one.
  package static let moreMarker: UInt8 = 0x00
  /// The last byte of the last chunk.
  package static let lastMarker: UInt8 = 0xff

  /// The sizes of chunks that a server announces.
  package struct ChunkLimits: Sendable, Hashable {
    /// The chunk size in bytes until a command selects another one.
    package var standard = RMBT.defaultChunkSize
    /// The allowed chunk sizes in bytes.
    package var allowed = RMBT.chunkSizes
  }
}
