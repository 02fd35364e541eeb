/// The host and the port of a server on the command line: `HOST`, `HOST:PORT`, `[IPV6]:PORT` or a bare IPv6 address.
struct ServerAddress: Hashable {
  var host: String
  var port: Int

  init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  init?(_ argument: String, defaultPort: Int) {
    var host = argument
    var port = defaultPort
    if argument.hasPrefix("[") {
      guard let end = argument.firstIndex(of: "]") else { return nil }
      host = String(argument[argument.index(after: argument.startIndex)..<end])
      let rest = argument[argument.index(after: end)...]
      if !rest.isEmpty {
        guard rest.first == ":", let number = Int(rest.dropFirst()) else { return nil }
        port = number
      }
    } else if argument.count(where: { $0 == ":" }) == 1, let colon = argument.firstIndex(of: ":") {
      guard let number = Int(argument[argument.index(after: colon)...]) else { return nil }
      host = String(argument[..<colon])
      port = number
    }
    guard !host.isEmpty, !host.contains(where: \.isWhitespace), (1...65_535).contains(port) else { return nil }
    self.host = host
    self.port = port
  }

  /// The address in the form that a user writes.
  var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
