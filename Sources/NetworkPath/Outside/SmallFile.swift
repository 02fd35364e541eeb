import Glibc

/// Files of the system that are read whole.
enum SmallFile {
  /// The text of a file, at most 64 KiB of it; `nil` when it is not there or not ours to read.
  static func text(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    let limit = 64 * 1024
    while bytes.count < limit {
      let part = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
        count = max(0, read(descriptor, buffer.baseAddress, min(4096, limit - bytes.count)))
      }
      if part.isEmpty { break }
      bytes += part
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Where a symbolic link points to; `nil` when it is none.
  static func destination(_ path: String) -> String? {
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      count = buffer.withMemoryRebound(to: CChar.self) { max(0, readlink(path, $0.baseAddress!, $0.count)) }
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
