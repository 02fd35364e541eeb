import Foundation

/// Small files: those of /sys and /etc, and those that a person asked for.
enum SystemFiles {
  /// The names in a folder, in order; none when it cannot be read.
  static func entries(of folder: String) -> [String] {
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    do { return try FileManager.default.contentsOfDirectory(atPath: folder).sorted() } catch { return [] }
  }

  /// The whole file; `nil` when it cannot be read. No caller acts differently on why.
  static func text(of path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: path), data.count < 1 << 20 else { return nil }
    return String(decoding: data, as: UTF8.self)
  }

  /// What a symbolic link says; `nil` when there is none.
  static func target(of path: String) -> String? {
    do { return try FileManager.default.destinationOfSymbolicLink(atPath: path) } catch { return nil }
  }

  /// The first line.
  static func line(of path: String) -> String? {
    text(of: path)?.split(separator: "\n").first.map(String.init)
  }

  /// Writes a file beside the one of this name, and then gives it the name.
  /// - Throws: ``Failure`` that names the file.
  static func write(_ text: String, to path: String) throws {
    do {
      try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    } catch {
      throw Failure("\(path) cannot be written: \(error.localizedDescription)", status: .failed)
    }
  }
}
