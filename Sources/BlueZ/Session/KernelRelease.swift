import Glibc

/// The release of the running kernel, as far as a fault of it matters here.
enum KernelRelease {
  /// The longest time that a connection whose peer owes a response must be left alone; `nil` where the kernel survives
  /// its end.
  ///
  /// The ATT transaction timeout (Core Specification 3.F.3.3.3), and the time that bluetoothd needs to act on it.
  static let responseTimeout: Duration? = name.hasPrefix("6.1.") ? .seconds(32) : nil

  private static let name: String = {
    var names = utsname()
    guard uname(&names) == 0 else { return "" }
    return withUnsafeBytes(of: names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }()
}
