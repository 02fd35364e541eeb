import Glibc

/// The journal of systemd, where standard output or standard error of a service go to it.
///
/// It has a clock of its own, and reads the severity of a line from the number in angle brackets before it (sd-daemon(3)).
enum Journal {
  /// The severities of syslog that lines of this program have.
  enum Severity: Int {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// Returns lines with the severity before each.
    func marked(_ text: String) -> String {
      text.split(separator: "\n").map { "<\(rawValue)>\($0)\n" }.joined()
    }
  }

  /// Returns `true` if a descriptor leads to the journal, as `JOURNAL_STREAM` names it: a device and an inode.
  static func isBehind(_ descriptor: Int32, _ stream: String?) -> Bool {
    var status = stat()
    guard let stream, fstat(descriptor, &status) == 0 else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }
}
