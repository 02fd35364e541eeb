internal import FoundationEssentials
internal import JSONValues

/// The state machine of a connection to a QoS server.
///
/// It performs no I/O. Commands carry a number, which the server repeats at the end of its reply, so that the tests of one
/// server share a connection.
package struct QTPConnection: Sendable {
  /// The instruction to the owner.
  package enum Action: Sendable, Hashable {
    /// Send a line.
    case send(String)
    /// The server has accepted the token; commands may be sent.
    case ready
    /// The server has replied to the command of a number.
    case reply(Int, String)
  }

  private enum State: Hashable {
    case greeting
    case offer
    case authorisation
    case commands
    case ready
  }

  private let token: String
  private var state = State.greeting
  private var partial: [UInt8] = []

  /// The largest line in bytes: the round trips of a thousand datagrams have 20 KB.
  static let lineLimit = 65_536

  /// Creates a connection that was not greeted yet.
  /// - Parameter token: The token of the test, without spaces.
  package init(token: String) { self.token = token }

  /// A Boolean value that indicates whether commands may be sent.
  package var isReady: Bool { state == .ready }

  /// Accepts bytes and returns what to do.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply`, and `.refused` when the server does not accept the token.
  package mutating func receive(_ bytes: some Sequence<UInt8>) throws(SpeedTestError) -> [Action] {
    var actions: [Action] = []
    for byte in bytes {
      guard byte == UInt8(ascii: "\n") else {
        guard partial.count < Self.lineLimit else {
          throw SpeedTestError(.invalidReply, "a line of the QoS server has more than \(Self.lineLimit) bytes")
        }
        partial.append(byte)
        continue
      }
      if partial.last == UInt8(ascii: "\r") { partial.removeLast() }
      let line = String(decoding: partial, as: UTF8.self)
      partial = []
      actions += try receive(line)
    }
    return actions
  }

  /// The error for a connection that the server closes now.
  package var closedError: SpeedTestError {
    state == .authorisation
      ? SpeedTestError(.refused, "the QoS server does not accept the token")
      : SpeedTestError(.connectionClosed, "the QoS server closed the connection")
  }

  private mutating func receive(_ line: String) throws(SpeedTestError) -> [Action] {
    switch state {
    case .greeting:
      guard line.hasPrefix("QoSSP") else { throw Self.unexpected(line) }
      state = .offer
      return []
    case .offer:
      guard line.hasPrefix("ACCEPT") else { throw Self.unexpected(line) }
      state = .authorisation
      return [.send("TOKEN \(token)")]
    case .authorisation:
      guard line == "OK" else { throw SpeedTestError(.refused, "the QoS server does not accept the token") }
      state = .commands
      return []
    case .commands:
      guard line.hasPrefix("ACCEPT") else { throw Self.unexpected(line) }
      state = .ready
      return [.ready]
    case .ready:
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      // What belongs to no command is none of a test: a server repeats its commands behind one that it does not know.
      guard let last = words.last, last.hasPrefix("+ID"), let number = Int(last.dropFirst(3)) else { return [] }
      return [.reply(number, words.dropLast().joined(separator: " "))]
    }
  }

  private static func unexpected(_ line: String) -> SpeedTestError {
    SpeedTestError(.invalidReply, "the QoS server sent '\(line.prefix(60))', which is not allowed here")
  }
}

/// The reply of a QoS server to the request for the results of a run of datagrams.
package struct QTPReceived: Sendable, Hashable {
  /// The number of datagrams that the server received.
  package let count: Int
  /// The number of datagrams that it received more than once.
  package let duplicates: Int
  /// The round trips in nanoseconds that the server measured, if it did.
  package let roundTrips: [Int]

  /// Reads a reply of the form `RCV <received> <duplicates> {<sequence>: <nanoseconds>, …}`.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply` for another one.
  package init(_ reply: String) throws(SpeedTestError) {
    let words = reply.split(separator: " ", maxSplits: 3)
    guard words.count >= 3, words[0] == "RCV", let count = Int(words[1]), let duplicates = Int(words[2]), count >= 0,
      duplicates >= 0
    else { throw SpeedTestError(.invalidReply, "the QoS server sent '\(reply.prefix(60))' as the result of a test") }
    self.count = count
    self.duplicates = duplicates
    let times = words.count > 3 ? LenientJSON(parsing: words[3].utf8)?.members ?? [] : []
    roundTrips = times.compactMap { LenientJSON($0.value).integer }.filter { $0 > 0 }.sorted()
  }
}
