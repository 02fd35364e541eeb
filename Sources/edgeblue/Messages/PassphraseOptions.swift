import ArgumentParser
import Foundation
import MessageSending

/// The option that replaces the question for a passphrase.
struct PassphraseOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Read the passphrase from this open file descriptor, up to the first line feed, instead of the terminal.",
      valueName: "number"))
  var passphraseFd: Int32?

  /// A Boolean value that indicates whether a program passes the passphrase.
  var isGiven: Bool { passphraseFd != nil }

  /// The longest passphrase in bytes.
  private static let limit = 1024

  func validate() throws {
    guard (passphraseFd ?? 0) >= 0 else { throw ValidationError("--passphrase-fd: allowed are 0 or more.") }
  }

  /// Returns the passphrase that the user types, or that a program has written.
  /// - Parameter isNew: Whether a terminal asks for it twice.
  func passphrase(isNew: Bool = false) throws -> SecretBytes {
    if let passphraseFd { return try Self.line(of: passphraseFd) }
    let console = try Console()
    var first = try console.secretLine("Passphrase: ", limit: Self.limit)
    guard isNew else { return try SecretBytes(taking: &first) }
    var second = try console.secretLine("The same again: ", limit: Self.limit)
    let isSame = first == second
    let secret = try SecretBytes(taking: &first)
    _ = try SecretBytes(taking: &second)
    guard isSame else { throw Failure("the two passphrases differ", status: .badInput) }
    guard secret.count > 0 else { throw Failure("the passphrase is empty", status: .badInput) }
    return secret
  }

  private static func line(of descriptor: Int32) throws -> SecretBytes {
    do throws(MessageSendingError) {
      return try SecretBytes.line(of: descriptor, limit: limit)
    } catch {
      let reason = error.code == .storage ? error.errno.map { String(cString: strerror($0)) } : nil
      throw Failure("--passphrase-fd \(descriptor): \(reason ?? error.message)", status: .badInput)
    }
  }
}
