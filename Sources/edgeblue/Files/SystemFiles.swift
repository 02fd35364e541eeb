import Foundation

/// Reads small files, such as those of /sys and /etc.
enum SystemFiles {
  /// Returns the sorted names of the files in a folder; none if the folder cannot be read.
  static func entries(of folder: String) -> [String] {
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    do { return try FileManager.default.contentsOfDirectory(atPath: folder).sorted() } catch { return [] }
  }

  /// Returns the text of a file; `nil` if it cannot be read, for whatever reason, or has 1 MiB or more.
  static func text(of path: String) -> String? {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    var data = Data()
    do {
      // A file of /proc has no size, and gives no more than a page at a time.
      while data.count < 1 << 20, let more = try file.read(upToCount: 1 << 16), !more.isEmpty { data += more }
    } catch {
      return nil
    }
    return data.count < 1 << 20 ? String(decoding: data, as: UTF8.self) : nil
  }

  /// Returns the target of a symbolic link; `nil` if there is none.
  static func target(of path: String) -> String? {
    do { return try FileManager.default.destinationOfSymbolicLink(atPath: path) } catch { return nil }
  }

  /// Returns the first line of a file; `nil` if it cannot be read.
  static func line(of path: String) -> String? {
    text(of: path)?.split(separator: "\n").first.map(String.init)
  }

  /// Returns the value of a key in a section of an ini file; comments and other sections are ignored.
  static func value(of key: String, in section: String, of text: String) -> String? {
    var current = ""
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.filter { !$0.isWhitespace }
      if line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        current = String(line.dropFirst().dropLast())
      } else if current == section, line.hasPrefix(key + "=") {
        return String(line.dropFirst(key.count + 1))
      }
    }
    return nil
  }
}
