internal import CLinux
import Glibc

/// The protection of a whole process that handles secrets.
public enum ProcessSecrets {
  /// Forbids core dumps of this process, and that other processes of the same user attach to it or read its memory.
  ///
  /// To be called first, before a passphrase or key is read. It cannot be undone by a library that is loaded later, and
  /// ends with the process; a program that it executes has to call it again.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` and the error number.
  public static func forbidCoreDumps() throws(MessageSendingError) {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    guard setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 else {
      throw MessageSendingError(.cryptography, "core dumps could not be limited", errno: errno)
    }
    guard edgeblue_set_dumpable(0) == 0 else {
      throw MessageSendingError(.cryptography, "core dumps could not be forbidden", errno: errno)
    }
  }

  /// A Boolean value that indicates whether core dumps of this process are forbidden.
  public static var areCoreDumpsForbidden: Bool {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return false }
    return limit.rlim_cur == 0 && edgeblue_is_dumpable() == 0
  }
}
