import DurableFiles
public import ErrorReporting
import Glibc

/// An error of the message queue, the cryptography, the keys or the vault.
public typealias MessageSendingError = CodedError<MessageSendingErrorDomain>

/// The domain of the codes of ``MessageSendingError``.
public enum MessageSendingErrorDomain {}

extension CodedError.Code where Domain == MessageSendingErrorDomain {
  /// An argument of the caller is out of its allowed range.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// The text does not fit into a message, or expands too far.
  public static var textDoesNotFit: Self { Self("text does not fit", .invalidInput) }
  /// The queue holds as many messages as it can.
  public static var queueIsFull: Self { Self("queue is full", .temporary) }
  /// Another process holds a file's lock for longer than the timeout.
  public static var busy: Self { Self("busy", .temporary) }
  /// A file cannot be read or written.
  public static var storage: Self { Self("storage failed", .failed) }
  /// A file is corrupt or of another format.
  public static var damagedFile: Self { Self("damaged file", .failed) }
  /// The keys carry no valid signature of the pinned root key.
  public static var untrustedKeys: Self { Self("untrusted keys", .notPermitted) }
  /// The keys are no longer valid, or not yet.
  public static var expiredKeys: Self { Self("expired keys", .notPermitted) }
  /// The bytes are no box for the key, or were changed on the way.
  public static var cannotOpen: Self { Self("cannot open", .invalidInput) }
  /// The passphrase is wrong, or the vault is corrupt; the two look the same.
  public static var cannotUnlock: Self { Self("cannot unlock", .notPermitted) }
  /// A function of libsodium or zlib failed, for example because memory ran out.
  public static var cryptography: Self { Self("cryptography failed", .failed) }
}

extension MessageSendingError {
  init(_ failure: FileError) {
    self.init(
      .storage, "\(failure)", errno: failure.errno,
      hint: failure.errno == ENOENT ? "a file or a folder of this path is missing" : nil)
  }
}

/// Checks that something of a fixed size has it.
/// - Parameters:
///   - what: The thing with its article, for the message.
///   - count: The number of its bytes.
///   - required: The number of bytes that it has to have.
///   - code: The code of the error.
/// - Throws: ``MessageSendingError`` with the code.
func checkSize(
  of what: String, _ count: Int, _ required: Int, _ code: MessageSendingError.Code = .invalidArgument
) throws(MessageSendingError) {
  guard count == required else { throw MessageSendingError(code, "\(what) has \(count) bytes; required: \(required)") }
}
