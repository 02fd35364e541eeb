import SpeedTest
import SpeedTestNIO

/// The table and the verdict that a user reads after a test.
struct SpeedTestTable {
  private let report: SpeedTestReport
  private let server: String
  private let qos: QoSReport?

  init(_ report: SpeedTestReport, server: String, qos: QoSReport? = nil) {
    self.report = report
    self.server = server
    self.qos = qos
  }

  /// The lines, in colours where the terminal shows them.
  func lines(_ terminal: Terminal) -> [String] {
    let result = report.result
    var lines = [row("Server", server, connection)]
    if let download = result.download {
      lines.append(direction("Download", download, .download(download.throughput.bitsPerSecond), terminal))
    }
    if let upload = result.upload {
      lines.append(direction("Upload", upload, .upload(upload.throughput.bitsPerSecond), terminal))
    }
    if let latency = result.latency {
      let details =
        "jitter \(Self.time(latency.jitter)), 90 % within \(Self.time(latency.p90)), "
        + "shortest \(Self.time(Double(latency.shortest))), \(latency.count) round trips"
      lines.append(
        row("Ping", Self.time(latency.median), rated(.ping(nanoseconds: latency.median), terminal) + details))
    }
    return lines + (qos?.lines(terminal) ?? []) + ending(terminal)
  }

  private var connection: String {
    guard let connection = report.connection else { return "" }
    let parts = ["RMBT \(connection.serverVersion.printable)", connection.tlsVersion ?? "no TLS"]
    return parts.joined(separator: ", ")
  }

  private func row(_ title: String, _ value: String, _ details: String) -> String {
    "\(title.padded(to: 11))\(value.padded(to: 18))\(details)".trimmedAtEnd
  }

  private func direction(
    _ title: String, _ direction: SpeedTestResult.Direction, _ rating: SpeedTestRating, _ terminal: Terminal
  ) -> String {
    let threads = direction.samples.count
    let seconds = Amounts.fixed(Double(direction.throughput.nanoseconds) / 1e9, 1)
    return row(
      title, Self.rate(direction.throughput.bitsPerSecond),
      rated(rating, terminal)
        + "\(Amounts.bytes(Int(direction.throughput.bytes))) in \(seconds) s, "
        + (threads == 1 ? "1 connection" : "\(threads) connections"))
  }

  private func rated(_ rating: SpeedTestRating, _ terminal: Terminal) -> String {
    let word = rating.words
    let colour: Terminal.Paint = rating >= .good ? .green : rating == .fair ? .yellow : .red
    return terminal.paint(word, colour) + String(repeating: " ", count: max(1, 11 - word.count))
  }

  private func ending(_ terminal: Terminal) -> [String] {
    if let failure = report.result.failure {
      return ["", "The test did not finish: it ended in the phase \(failure.phase.words)."]
    }
    return verdict.map { ["", $0] } ?? []
  }

  /// The verdict in one sentence, by the lowest class of the three.
  private var verdict: String? {
    let result = report.result
    let ratings = [
      result.download.map { ("the download", SpeedTestRating.download($0.throughput.bitsPerSecond)) },
      result.upload.map { ("the upload", SpeedTestRating.upload($0.throughput.bitsPerSecond)) },
      result.latency.map { ("the ping", SpeedTestRating.ping(nanoseconds: $0.median)) },
    ].compactMap { $0 }
    guard let lowest = ratings.map(\.1).min() else { return nil }
    let limiting = ratings.filter { $0.1 == lowest }.map(\.0)
    return lowest.verdict
      + (limiting.count < ratings.count ? " Limited by \(limiting.joined(separator: " and "))." : "")
  }

  /// Returns a rate with its unit: `512 kbit/s`, `94.3 Mbit/s`, `1.25 Gbit/s`.
  static func rate(_ bitsPerSecond: Double) -> String {
    switch bitsPerSecond {
    case ..<1e6: "\(Amounts.fixed(bitsPerSecond / 1e3, 0)) kbit/s"
    case ..<10e6: "\(Amounts.fixed(bitsPerSecond / 1e6, 2)) Mbit/s"
    case ..<1e9: "\(Amounts.fixed(bitsPerSecond / 1e6, 1)) Mbit/s"
    default: "\(Amounts.fixed(bitsPerSecond / 1e9, 2)) Gbit/s"
    }
  }

  /// Returns nanoseconds in milliseconds: `0.08 ms`, `12.3 ms`.
  static func time(_ nanoseconds: Double) -> String {
    "\(Amounts.fixed(nanoseconds / 1e6, nanoseconds < 10e6 ? 2 : 1)) ms"
  }
}

extension SpeedTestRating {
  /// The class in words.
  var words: String {
    switch self {
    case .poor: "poor"
    case .fair: "fair"
    case .good: "good"
    case .veryGood: "very good"
    }
  }

  /// The uses for which the line suffices.
  fileprivate var verdict: String {
    switch self {
    case .veryGood: "Very good: suffices for large downloads, video calls and games at the same time."
    case .good: "Good: suffices for video in high resolution and for video calls."
    case .fair: "Fair: suffices for web pages and video in standard resolution; large files take long."
    case .poor: "Poor: suffices for messages and simple web pages; video and calls will stall."
    }
  }
}

extension SpeedTestPhase {
  /// The phase in words.
  var words: String {
    switch self {
    case .connecting: "connecting"
    case .downloadPretest: "preparing the download"
    case .latency: "ping"
    case .download: "download"
    case .uploadPretest: "preparing the upload"
    case .upload: "upload"
    case .finished: "finished"
    }
  }
}

extension String {
  fileprivate var trimmedAtEnd: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
