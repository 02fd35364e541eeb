public import Logging
internal import Streams

/// A log handler that records every line of every level.
///
/// ```swift
/// let log = RecordingLog()
/// log.logger.info("started")
/// print(log.lines.contains("started"))  // true
/// ```
public final class RecordingLog: Sendable {
  private let text = Lock("")

  /// Creates a log without lines.
  public init() {}

  /// The lines that were logged so far.
  public var lines: String { text.withLock { $0 } }

  /// A logger that records into this log.
  public var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  private struct Handler: LogHandler {
    let log: RecordingLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(log: RecordingLog) { self.log = log }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      log.text.withLock { $0 += "\(event.level) \(event.message) \(all)\n" }
    }
  }
}
