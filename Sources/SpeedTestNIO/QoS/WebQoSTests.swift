internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import OutgoingHTTP
internal import SpeedTest
internal import Timing

/// A file over HTTP, whose hash shows whether it was changed on the way.
enum HTTPProxyQoSTest: QoSTest {
  /// The longest text of the headers in a result, in characters.
  private static let headerLimit = 4096

  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    let url = try WebFetch.url(of: objective)
    let timeout =
      objective.duration("conn_timeout", default: objective.timeout)
      + objective.duration("download_timeout", default: .seconds(10))
    let range = objective["range"].flatMap { $0.hasPrefix("bytes=") ? $0 : nil }
    let fetch = try await WebFetch.run(url, range: range, timeout, context.outgoing)
    var values = objective.repeated("url", "range")
    values["http_result_status"] = fetch.status.map { .number($0) }
    values["http_result_length"] = .number(fetch.bytes)
    values["http_result_header"] = .string(
      String(
        fetch.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n").prefix(headerLimit))
    )
    values["http_result_hash"] = .string(
      fetch.outcome == .passed ? fetch.hash : fetch.outcome == .timedOut ? "TIMEOUT" : "ERROR")
    values["http_result_duration"] = .number(fetch.duration.wholeNanoseconds)
    return QoSResult(objective, target: url, QoSVerdict(["": fetch.outcome]), values)
  }
}

/// The loading of a page: its document, to the first byte and to the last.
enum WebsiteQoSTest: QoSTest {
  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    let url = try WebFetch.url(of: objective)
    let fetch = try await WebFetch.run(url, redirects: 5, objective.timeout, context.outgoing)
    var values = objective.repeated("url", "timeout")
    values["website_result_info"] = fetch.outcome.value
    values["website_result_status"] = fetch.status.map { .number($0) }
    values["website_result_duration"] = .number(fetch.duration.wholeNanoseconds)
    values["website_result_first_byte"] = fetch.firstByte.map { .number($0.wholeNanoseconds) }
    values["website_result_rx_bytes"] = .number(fetch.bytes)
    return QoSResult(objective, target: url, QoSVerdict(["": fetch.outcome]), values)
  }
}

/// What a server sent, from its first byte to its last.
struct WebFetch: Sendable {
  private(set) var outcome = QoSOutcome.timedOut
  private(set) var status: Int?
  private(set) var headers: [(name: String, value: String)] = []
  private(set) var bytes = 0
  private(set) var hash = ""
  /// The time to the first byte of the body, or to the end of an empty one.
  private(set) var firstByte: Duration?
  private(set) var duration = Duration.zero

  /// The largest body that is read, in bytes.
  private static let bodyLimit = 32 << 20

  /// Returns the URL of an objective.
  /// - Throws: `SpeedTestError` with code `.invalidReply` for one that is not `http` or `https`.
  static func url(of objective: QoSObjective) throws(SpeedTestError) -> String {
    guard let url = objective["url"], isWeb(url) else {
      throw SpeedTestError(.invalidReply, "the objective names no http or https URL")
    }
    return url
  }

  private static func isWeb(_ url: String) -> Bool {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    return ["http", "https"].contains(scheme) && url.dropFirst(scheme.count).hasPrefix("://")
      && url.utf8.count <= 2048
      && url.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  /// Requests a URL and reads the response to its last byte.
  /// - Parameters:
  ///   - url: The URL.
  ///   - range: The value of the header `Range`; `nil` for the whole file.
  ///   - redirects: The number of redirects to follow.
  ///   - timeout: The timeout of everything.
  ///   - client: The HTTP client.
  static func run(
    _ url: String, range: String? = nil, redirects: Int = 0, _ timeout: Duration,
    _ client: OutgoingHTTPClient
  ) async throws -> WebFetch {
    let time = TimeSource.continuous
    let start = time.now
    var fetch = WebFetch()
    do {
      fetch = try await time.withLimit(timeout, orThrow: QoSSocket.Failure.timedOut) {
        var fetch = WebFetch()
        try await fetch.load(url, range, redirects, timeout, client) { time.now - start }
        return fetch
      }
    } catch QoSSocket.Failure.timedOut {
      fetch.outcome = .timedOut
    } catch let error as CancellationError {
      throw error
    } catch {
      try Task.checkCancellation()
      fetch.outcome = .failed(words(error))
    }
    fetch.duration = time.now - start
    return fetch
  }

  private mutating func load(
    _ url: String, _ range: String?, _ redirects: Int, _ timeout: Duration,
    _ client: OutgoingHTTPClient,
    _ elapsed: () -> Duration
  ) async throws {
    var request = HTTPClientRequest(url: url)
    request.headers = ["Accept": "*/*"]
    if let range { request.headers.add(name: "Range", value: range) }
    let response = try await client.execute(request, timeout: TimeAmount(timeout * 2))
    status = Int(response.status.code)
    headers = response.headers.map { ($0.name, $0.value) }
    if redirects > 0, (300..<400).contains(response.status.code),
      let next = response.headers.first(name: "Location"),
      let target = Self.target(of: next, from: url)
    {
      return try await load(target, range, redirects - 1, timeout, client, elapsed)
    }
    var hash = QoSHash()
    for try await part in response.body {
      firstByte = firstByte ?? elapsed()
      bytes += part.readableBytes
      guard bytes <= Self.bodyLimit else {
        outcome = .failed("the body has more than \(Self.bodyLimit) bytes")
        return
      }
      part.withUnsafeReadableBytes { hash.add($0) }
    }
    firstByte = firstByte ?? elapsed()
    self.hash = hash.text
    outcome = response.status.code < 300 ? .passed : .failed("status \(response.status.code)")
  }

  /// The URL that a redirect names: a whole one, or a path of the same host.
  private static func target(of location: String, from url: String) -> String? {
    if isWeb(location) { return location }
    guard location.hasPrefix("/"), !location.hasPrefix("//") else { return nil }
    let origin = url.split(separator: "/", maxSplits: 2).prefix(2).joined(separator: "//")
    let target = origin + location
    return isWeb(target) ? target : nil
  }

  private static func words(_ error: any Error) -> String {
    switch ConnectionFailure(error) {
    case .unknownHost: "unknown host name"
    case .noServer: "no server responds"
    case .untrusted(let reason): "the server cannot be trusted: \(reason.words)"
    case .timedOut: "no connection in time"
    case .noProxy(let reason): reason
    case .tooLong: "the response is too long"
    case .notHTTP: "the server does not speak HTTP"
    case .interrupted(let reason): "the connection was interrupted: \(reason)"
    }
  }
}
