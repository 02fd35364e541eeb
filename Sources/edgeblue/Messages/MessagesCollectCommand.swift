import Agent
import ArgumentParser
import Foundation
import Logging
import MessageSending
import MessageSendingHTTP
import ServiceLifecycle
import Timing
import Uploads

/// `edgeblue messages collect`
struct MessagesCollectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collect", abstract: "Accept and store sealed messages until Ctrl-C.",
    discussion: """
      A server for one's own use: POST /user/messages stores one message, which is on disk before the response. The \
      folder contains segments of messages, one after the other; `edgeblue messages open` reads them. With --bucket, \
      finished segments are queued for upload (`edgeblue uploads`). Neither addresses nor times are stored or logged.
      """)

  @Option(help: ArgumentHelp("The folder to store messages in.", valueName: "folder"), completion: .directory)

  var to: String
  @Option(help: ArgumentHelp("The address to listen on.", valueName: "address")) var host = "127.0.0.1"
  @Option(help: ArgumentHelp("The port to listen on, 0 to 65535; 0 selects a free one.", valueName: "port"))
  var port = 7676
  @Option(
    help: ArgumentHelp("A PEM file with the certificate chain; required off the loopback.", valueName: "file"),
    completion: .file())
  var certificate: String?
  @Option(help: ArgumentHelp("A PEM file with the certificate's private key.", valueName: "file"), completion: .file())
  var key: String?
  @Option(help: ArgumentHelp("The number of messages accepted per minute, 1 to 100000.", valueName: "n")) var rate = 600
  @Option(help: ArgumentHelp("The minutes after which a segment is finished, 1 to 10080.", valueName: "minutes"))
  var finish = 60
  @Option(help: ArgumentHelp("The bucket that finished segments are queued for.", valueName: "name"))
  var bucket: String?
  @Option(help: ArgumentHelp("The account to queue uploads for.", valueName: "name")) var account = "default"
  @OptionGroup var queue: QueueOptions
  @OptionGroup var metrics: MetricsOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--port", port, 0...65_535)
    try checkRange(of: "--rate", rate, 1...100_000)
    try checkRange(of: "--finish", finish, 1...10_080)
    guard (certificate == nil) == (key == nil) else {
      throw ValidationError("--certificate and --key belong together.")
    }
    guard certificate != nil || ["127.0.0.1", "::1", "localhost"].contains(host) else {
      throw ValidationError("--host \(host) requires --certificate and --key.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      var options = MessageCollector.Options(host: host, port: port, certificate: pair(certificate, key))
      // First, so that a mistake leaves no folder behind.
      try options.checkCertificate()
      if let key { SecretText.warnIfReadable(key) }
      let segments = try MessageSegments(folder: to)
      options.messagesPerMinute = rate
      let collector = MessageCollector(segments, options: options, logger: Logger(label: "edgeblue.messages")) { port in
        terminal.happened("accepting messages on port \(port)", "listening", ["port": .number(port)])
      }
      let uploads = try bucket.map { CollectedUploads(store: try queue.open(), bucket: $0, account: account) }
      let role = Role {
        while true {
          try await Task.sleep(for: .seconds(60 * finish), clock: .steady)
          try finishAndQueue(segments, uploads)
        }
      } cleanUp: {
        try finishAndQueue(segments, uploads)
      }
      try uploads?.add(try segments.finished)
      try await runUntilStopped(
        ([role, collector] as [any Service]) + metrics.server(terminal) { collector.counts.metrics })
    }
  }

  private func finishAndQueue(_ segments: MessageSegments, _ uploads: CollectedUploads?) throws {
    try segments.finish()
    try uploads?.add(try segments.finished)
  }

  private func pair(_ chain: String?, _ key: String?) -> (chain: String, key: String)? {
    if let chain, let key { (chain, key) } else { nil }
  }
}

/// Queues finished segments for upload, each of them once.
struct CollectedUploads: Sendable {
  let store: QueueStore
  let bucket: String
  let account: String

  /// Queues the segments; one that is in the queue already is not queued again.
  func add(_ paths: [String]) throws {
    let requests = try paths.map { path in
      let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
      let name = path.split(separator: "/").last.map(String.init) ?? path
      let content = try ObjectContent(readingFile: absolute, contentType: "application/octet-stream")
      return UploadRequest(content, bucket: bucket, key: "messages/" + name, account: account)
    }
    _ = try store.add(requests)
  }
}

extension CollectorCounts {
  /// The counts for Prometheus.
  var metrics: [Metric] {
    let results = [("stored", stored), ("refused", refused), ("limited", limited), ("failed", failed)]
    return [
      Metric(
        "edgeblue_messages_collected_total", .counter, "Requests to the collector, by result.",
        results.map { .init(Double($0.1), ["result": $0.0]) })
    ]
  }
}
