import Glibc
import Logging

/// A log handler that writes one line per message to standard error: time, level, label, message and metadata.
struct TerminalLogHandler: LogHandler {
  let label: String
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level

  init(label: String, level: Logger.Level) {
    self.label = label
    logLevel = level
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let details = metadata.merging(event.metadata ?? [:]) { $1 }
      .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    let line = "\(Terminal.clock()) \(event.level) \(label): \(event.message)\(details)\n"
    // Metadata may hold names and texts of devices and servers.
    Output.write(line.printableLines, to: STDERR_FILENO)
  }
}
