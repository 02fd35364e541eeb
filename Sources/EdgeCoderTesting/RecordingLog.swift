import Logging

import struct Streams.Lock

@testable import EdgeCoder

/// Keeps every line that is logged, of every level.
final class RecordingLog: Sendable {
  private let text = Lock("")

  var lines: String { text.withLock { $0 } }

  var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

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
      log.text.withLock { $0 += "\(event.level) \(event.message) \(event.metadata ?? [:])\n" }
    }
  }
}
