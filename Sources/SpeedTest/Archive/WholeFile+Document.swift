internal import DurableFiles
internal import FoundationEssentials

extension WholeFile {
  /// Reads the document in the file.
  /// - Parameter decode: A closure that returns `nil` for a corrupt document.
  /// - Returns: `nil` if the file does not exist.
  /// - Throws: ``SpeedTestError`` with code `.storage` if the file cannot be read, and `.damagedFile` if it is too long or
  ///   corrupt.
  func document<Value>(_ decode: (Data) -> Value?) throws(SpeedTestError) -> Value? {
    guard let data = try SpeedTestError.storing({ try read() }) else { return nil }
    // The file itself shows what is wrong with it.
    guard data.count <= limit, let value = decode(data) else { throw SpeedTestError(damaged: path) }
    return value
  }

  /// Replaces the document in the file durably.
  /// - Throws: `FileError`, or an error of the encoder.
  func write(document: some Encodable, _ formatting: JSONEncoder.OutputFormatting = []) throws {
    try write(try Self.encode(document, formatting))
  }

  /// Returns a document as it is written, with sorted keys and a newline at the end.
  static func encode(_ document: some Encodable, _ formatting: JSONEncoder.OutputFormatting = []) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, formatting]
    return try encoder.encode(document) + Data("\n".utf8)
  }
}

extension SpeedTestError {
  init(_ failure: FileError) {
    self.init(
      .storage, "\(failure)", errno: failure.errno,
      hint: failure.isOutOfSpace ? "make room on the disk" : nil)
  }

  init(damaged path: String) {
    self.init(.damagedFile, "the file \(path) is corrupt", hint: "rename or remove it")
  }

  /// Performs work on files, whose errors become errors of this library with code `.storage`.
  static func storing<Value>(_ work: () throws -> Value) throws(SpeedTestError) -> Value {
    do {
      return try work()
    } catch let error as SpeedTestError {
      throw error
    } catch let error as FileError {
      throw SpeedTestError(error)
    } catch {
      throw SpeedTestError(.storage, "\(error)")
    }
  }
}
