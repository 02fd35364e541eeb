package import DurableFiles
internal import FoundationEssentials

/// A store that keeps a loop in one file over restarts, crashes and power cuts.
///
/// The state and the history are one small document, which is replaced as a whole: no crash separates a test from the
/// counter that it has increased.
public struct LoopStore<Settings: Codable & Sendable>: Sendable {
  /// The contents of the file.
  public struct Contents: Sendable {
    /// The loop as it was stored last.
    public var state: LoopState
    /// The settings that the loop was started with.
    public var settings: Settings

    /// Creates contents from a loop and its settings.
    public init(state: LoopState, settings: Settings) {
      self.state = state
      self.settings = settings
    }
  }

  /// The file as it is written; a later format has another version.
  private struct Document: Codable {
    var version = 1
    var loop: LoopState
    var settings: Settings
  }

  private let file: WholeFile

  /// The path of the file.
  public var path: String { file.path }

  /// Creates a store without reading its file, whose folder must exist.
  public init(path: String) { self.init(path: path, disk: Disk()) }

  /// Creates a store on a disk whose steps a test can make fail.
  package init(path: String, disk: Disk) {
    // A loop of 500 tests, each repeated, has about 500 bytes for each attempt.
    file = WholeFile(path: path, limit: 4 << 20, disk: disk)
  }

  /// Returns the stored loop; `nil` if there is none.
  /// - Throws: ``SpeedTestError`` with code `.storage` if the file cannot be read, and `.damagedFile` if it is corrupt. A
  ///   corrupt file stays, because the loop in it may be worth more than a new one.
  public func load() throws(SpeedTestError) -> Contents? {
    try file.document(Self.decode)
  }

  /// Replaces the stored loop, which is durable when this returns.
  /// - Throws: ``SpeedTestError`` with code `.storage`; the file then has the old loop or the new one.
  public func save(_ contents: Contents) throws(SpeedTestError) {
    try SpeedTestError.storing { try file.write(try Self.encode(contents)) }
  }

  static func encode(_ contents: Contents) throws -> Data {
    try WholeFile.encode(Document(loop: contents.state, settings: contents.settings), .prettyPrinted)
  }

  /// Returns `nil` for a corrupt document, and for one whose parts do not fit together.
  static func decode(_ data: Data) -> Contents? {
    guard let document = try? JSONDecoder().decode(Document.self, from: data), document.version == 1,
      document.loop.isPlausible
    else { return nil }
    return Contents(state: document.loop, settings: document.settings)
  }
}
