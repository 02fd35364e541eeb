import Glibc
import Logging

/// A log handler that writes one line per message to standard error: time, level, label, message and metadata; in the
/// journal, which has the time and the level itself, without these two.
struct TerminalLogHandler: LogHandler {
  let label: String
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level
  private let isJournal: Bool

  init(label: String, level: Logger.Level) {
    self.label = label
    logLevel = level
    isJournal = Journal.isBehind(STDERR_FILENO, getenv("JOURNAL_STREAM").map { String(cString: $0) })
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let details = metadata.merging(event.metadata ?? [:]) { $1 }
      .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    // Metadata may hold names and texts of devices and servers.
    let text = "\(label): \(event.message)\(details)".printableLines
    Output.write(
      isJournal ? Self.severity(event.level).marked(text) : "\(Terminal.clock()) \(event.level) \(text)\n",
      to: STDERR_FILENO)
  }

  private static func severity(_ level: Logger.Level) -> Journal.Severity {
    switch level {
    case .trace, .debug: .debug
    case .info: .info
    case .notice: .notice
    case .warning: .warning
    case .error, .critical: .error
    }
  }
}
