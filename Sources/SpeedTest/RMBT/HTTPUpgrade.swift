internal import FoundationEssentials

/// The HTTP request that precedes the greeting in two variants of the protocol, or that asks for the page.
struct HTTPUpgrade: Sendable {
  enum Outcome: Sendable, Hashable {
    case rmbt
    case webSocket(key: String)
    case page
    case upgradeRequired
    case methodNotAllowed
    case badRequest
    case foreignOrigin
  }

  /// The largest header in bytes.
  static let limit = 8192
  private static let names: Set = ["upgrade", "host", "origin", "sec-websocket-key", "sec-websocket-version"]

  /// A Boolean value that indicates whether pages of other servers may measure, too.
  private let admitsAnyOrigin: Bool
  private var lines = LineReader(limit: limit)
  private var request: String?
  private var fields: [String: String] = [:]
  private var count = 0

  init(admitsAnyOrigin: Bool) { self.admitsAnyOrigin = admitsAnyOrigin }

  /// Reads lines up to the end of the header; returns `nil` when it has not arrived.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) throws(SpeedTestError) -> Outcome? {
    while true {
      let before = offset
      let line = try lines.next(bytes, &offset)
      count += offset - before
      guard count <= Self.limit else {
        throw SpeedTestError(.invalidReply, "the HTTP header has more than \(Self.limit) bytes")
      }
      guard let line else { return nil }
      guard let request else {
        request = line
        continue
      }
      guard line.isEmpty else {
        note(line)
        continue
      }
      return outcome(request)
    }
  }

  private mutating func note(_ line: String) {
    let parts = line.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else { return }
    let name = parts[0].lowercased()
    // The others mean nothing here.
    if Self.names.contains(name) { fields[name] = parts[1].filter { $0 != " " } }
  }

  private func outcome(_ request: String) -> Outcome {
    guard request.hasPrefix("GET ") else { return .methodNotAllowed }
    switch fields["upgrade"]?.lowercased() {
    case "rmbt": return .rmbt
    case "websocket":
      guard fields["sec-websocket-version"] == "13", let key = fields["sec-websocket-key"],
        Data(base64Encoded: key)?.count == 16
      else { return .badRequest }
      return admitsAnyOrigin || isOwnOrigin ? .webSocket(key: key) : .foreignOrigin
    default:
      let path = request.split(separator: " ").dropFirst().first?.prefix { $0 != "?" }
      return path == "/" ? .page : .upgradeRequired
    }
  }

  /// A browser names the page that opens the connection; other programs name none.
  private var isOwnOrigin: Bool {
    guard let origin = fields["origin"]?.lowercased() else { return true }
    guard let scheme = origin.firstRange(of: "://"), let host = fields["host"]?.lowercased() else { return false }
    return origin[scheme.upperBound...] == host
  }
}

extension HTTPUpgrade.Outcome {
  /// Returns the response; the page asks for a key where the server has some.
  func response(needsKey: Bool) -> String {
    switch self {
    case .rmbt: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\n\r\n"
    case .webSocket(let key):
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Accept: \(WebSocket.acceptance(of: key))\r\n\r\n"
    case .page: BrowserPage.response(needsKey: needsKey)
    case .upgradeRequired: Self.refusal("426 Upgrade Required")
    case .methodNotAllowed: Self.refusal("405 Method Not Allowed")
    case .badRequest: Self.refusal("400 Bad Request", "Sec-WebSocket-Version: 13\r\n")
    case .foreignOrigin: Self.refusal("403 Forbidden")
    }
  }

  private static func refusal(_ status: String, _ field: String = "") -> String {
    let body = "RMBT measurement server - RMBTv\(RMBT.version)\n"
    return "HTTP/1.1 \(status)\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n\(field)"
      + "Connection: close\r\n\r\n\(body)"
  }
}
