internal import Crypto
internal import DurableFiles
internal import FoundationEssentials

/// A secret that a server and its clients share; tokens are made and verified with it.
///
/// Descriptions of a key do not contain the secret.
public struct SpeedTestKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  let secret: SymmetricKey
  /// The label of the key in the key file; empty without one.
  public let label: String

  /// The shortest secret in characters; shorter lines of a key file are skipped.
  public static let shortest = 5
  /// The largest key file in bytes; what follows is not read.
  private static let keyFileLimit = 1 << 20

  /// Creates a key from its secret, at least ``shortest`` characters without spaces.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` for a secret that is too short.
  public init(_ secret: String, label: String = "") throws(SpeedTestError) {
    guard secret.count >= Self.shortest, !secret.contains(where: \.isWhitespace) else {
      throw SpeedTestError(
        .invalidArgument, "the key has fewer than \(Self.shortest) characters, or spaces among them")
    }
    self.secret = SymmetricKey(data: Data(secret.utf8))
    self.label = label
  }

  /// Reads keys from a file: one on each line, optionally followed by a space and a label.
  ///
  /// Lines with fewer than ``shortest`` characters are skipped.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` when the file cannot be read or contains no key.
  public static func keys(inFile path: String) throws(SpeedTestError) -> [SpeedTestKey] {
    let data: Data?
    do {
      data = try Disk().read(path, limit: keyFileLimit, followsLinks: true).map { Data($0) }
    } catch {
      throw SpeedTestError(.invalidArgument, "read the keys: \(error)")
    }
    guard let data else { throw SpeedTestError(.invalidArgument, "read the keys: \(path) does not exist") }
    let keys = keys(in: String(decoding: data, as: UTF8.self))
    guard !keys.isEmpty else {
      throw SpeedTestError(
        .invalidArgument, "\(path) contains no key: a line with \(shortest) or more characters")
    }
    return keys
  }

  static func keys(in text: String) -> [SpeedTestKey] {
    text.split(whereSeparator: \.isNewline).compactMap { line in
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      guard line.count >= shortest, let secret = words.first else { return nil }
      // A line that is no key is skipped, as the servers that this file comes from do.
      return try? SpeedTestKey(secret, label: words.count > 1 ? words[1] : "")
    }
  }

  /// The label of the key, without the secret.
  public var description: String { "key" + (label.isEmpty ? "" : " \(label)") }

  /// The label of the key, without the secret.
  public var debugDescription: String { description }
}
