import Foundation

/// A parser of input from outside, by name.
struct Target: Sendable {
  let name: String
  /// Good input, to start from.
  let seeds: [[UInt8]]
  /// Takes any bytes. It must not trap, hang or grow; errors it throws are part of the parser's contract.
  let take: @Sendable ([UInt8]) throws -> Void

  init(_ name: String, seeds: [[UInt8]], take: @escaping @Sendable ([UInt8]) throws -> Void) {
    self.name = name
    self.seeds = seeds
    self.take = take
  }

  init(_ name: String, texts: [String], take: @escaping @Sendable ([UInt8]) throws -> Void) {
    self.init(name, seeds: texts.map { Array($0.utf8) }, take: take)
  }

  static let all = [
    edgeCoder, audio, uploads, speedTest, control, loop, coverage, messages, buses, profiles, recordings, agent, http,
  ].flatMap { $0 }
}

/// Reads decisions and pieces from an input; what is not there is 0 or empty.
struct Input {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func number() -> UInt32 { (0..<4).reduce(0) { number, _ in number << 8 | UInt32(byte()) } }

  /// A piece with its length in one byte before it.
  mutating func piece() -> [UInt8] { take(Int(byte())) }

  /// A piece with its length in two bytes before it.
  mutating func longPiece() -> [UInt8] { take(Int(byte()) << 8 | Int(byte())) }

  mutating func all() -> [UInt8] { take(rest.count) }

  private mutating func take(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}

/// Stops the run: a property of the parser does not hold.
func require(_ holds: Bool, _ property: @autoclosure () -> String) {
  if !holds { fatalError(property()) }
}

/// A folder in memory for the parsers that read files.
let scratch: String = {
  let folder = "/dev/shm/edgeblue-fuzz-\(getpid())"
  do {
    // One that was killed and had the same number has left its folder.
    if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
  } catch {
    fatalError("\(folder): \(error)")
  }
  atexit { try? FileManager.default.removeItem(atPath: scratch) }
  return folder
}()

/// Writes bytes to a file of the folder.
/// - Returns: its path.
func file(_ name: String, _ bytes: [UInt8]) -> String {
  let path = scratch + "/" + name
  do { try Data(bytes).write(to: URL(filePath: path)) } catch { fatalError("\(path): \(error)") }
  return path
}
