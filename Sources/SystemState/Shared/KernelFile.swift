import Glibc

/// A small file or a folder of `/sys` or `/proc`, or a test's own. What is not there has nothing in it.
struct KernelFile: Sendable {
  let path: String

  /// The names in the folder, in order, without those that begin with a dot.
  var names: [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// The first line, without blanks around it; `nil` when there is none to read.
  var line: String? {
    // A page is all that a file of sysfs can hold.
    let words = text(limit: 4096).prefix { $0 != "\n" }.drop { $0.isWhitespace }
    guard let end = words.lastIndex(where: { !$0.isWhitespace }) else { return nil }
    return String(words[...end])
  }

  /// What is in the file, up to a NUL.
  /// - Parameter limit: the most bytes.
  func text(limit: Int) -> String {
    // Not to wait, should somebody have put something else there than a file.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
}
