import DurableFiles
import Foundation
import Logging

/// The reading of files with secrets.
enum SecretText {
  /// The largest file of one secret: 16 KiB.
  static let limit = 16 << 10

  /// Returns the first line of a file; a warning is logged if other users of the host can read the file.
  /// - Throws: ``Failure``, which never contains a part of the file.
  static func line(of path: String) throws -> String {
    let bytes: [UInt8]?
    do throws(FileError) { bytes = try Disk().read(path, limit: limit, followsLinks: true) } catch {
      throw Failure("the secret in \(path.printable) cannot be read: \(error.reason)", status: .badInput)
    }
    guard let bytes else { throw Failure("\(path.printable) does not exist", status: .badInput) }
    guard bytes.count <= limit else {
      throw Failure("\(path.printable) has more than \(limit) bytes, and so is no secret", status: .badInput)
    }
    warnIfReadable(path)
    let line = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }
    return try checked(line.trimmingCharacters(in: .whitespaces), in: path.printable)
  }

  /// Returns a text that a header may contain: printable ASCII without spaces.
  /// - Throws: ``Failure``, which never contains the text.
  static func checked(_ text: String, in place: String) throws -> String {
    guard !text.isEmpty else {
      throw Failure("\(place) contains no secret", hint: "its first line must be the secret", status: .badInput)
    }
    guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw Failure("the secret in \(place) contains spaces, or characters that are not ASCII", status: .badInput)
    }
    return text
  }

  /// Logs a warning if other users of the host can read a file.
  static func warnIfReadable(_ path: String) {
    guard isReadableByAll(path) else { return }
    Logger(label: "edgeblue.secrets").warning(
      "other users can read a secret; chmod o-r corrects it", metadata: ["file": "\(path)"])
  }

  /// Returns whether every user of the host may read a file.
  static func isReadableByAll(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
  }
}
