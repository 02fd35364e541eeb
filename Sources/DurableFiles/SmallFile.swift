import Glibc

/// A small file or folder that somebody else writes, such as one of `/sys` or `/proc`, read with a size limit.
///
/// A file that does not exist, or that this process may not read, reads as empty: the kernel's files come and go with
/// the devices they describe.
package struct SmallFile: Sendable {
  /// The path of the file or folder.
  package let path: String

  /// Creates a reference to a file without accessing it.
  package init(_ path: String) { self.path = path }

  /// Returns the text of the file, or `nil` if it does not exist or may not be read.
  /// - Parameter limit: The largest number of bytes to read; the rest is ignored.
  package func text(limit: Int = 64 << 10) -> String? {
    // A non-blocking open: a pipe in the file's place would wait for a writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    while bytes.count < limit {
      let part = [UInt8](unsafeUninitializedCapacity: min(4096, limit - bytes.count)) { buffer, count in
        count = max(0, read(file, buffer.baseAddress, buffer.count))
      }
      if part.isEmpty { break }
      bytes += part
    }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  /// The first line without surrounding white space, or `nil` if there is none.
  package var line: String? {
    // A page is all that a file of sysfs can hold.
    let words = (text(limit: 4096) ?? "").prefix { $0 != "\n" }.drop { $0.isWhitespace }
    guard let end = words.lastIndex(where: { !$0.isWhitespace }) else { return nil }
    return String(words[...end])
  }

  /// The names in the folder, sorted, without those that begin with a dot.
  package var names: [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// The path that the symbolic link points to, or `nil` if the file is no symbolic link.
  package var destination: String? {
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      count = buffer.withMemoryRebound(to: CChar.self) { max(0, readlink(path, $0.baseAddress!, $0.count)) }
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
