import Foundation
import IncomingHTTP
import Testing

@testable import AgentHTTP
@testable import EdgeCoder
@testable import EdgeCoderHTTP
@testable import MessageSending
@testable import SpeedTest
@testable import SpeedTestNIO
@testable import Uploads
@testable import edgeblue

/// SECURITY.md states limits, and the code has them.
@Suite("The limits that SECURITY.md states") struct DocumentedLimitTests {
  private static let page = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../SECURITY.md").standardized

  private func expect(_ phrases: String...) throws {
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    for phrase in phrases { #expect(page.contains(phrase), "SECURITY.md does not say: \(phrase)") }
  }

  @Test("Limits on centrals over the air") func phones() throws {
    let configuration = PhoneConfiguration()
    let rates = configuration.rates
    try expect(
      "\(rates.requestsPerMinute) requests, \(rates.bytesPerMinute >> 20) MiB per minute and "
        + "\(configuration.queue.limitPerCentral) queue slots per central")
  }

  @Test("Limits of the HTTP API") func httpAPI() throws {
    let server = HTTPAPI.Configuration()
    try expect(
      "bodies up to \(server.bodyLimit >> 20) MiB within \(server.bodyTimeout.components.seconds) s, "
        + "\(server.connectionLimit) connections, \(StopSequences.countLimit) stop sequences of "
        + "\(StopSequences.lengthLimit >> 10) KiB")
    // The server of metrics has the same front.
    #expect(IncomingBody().limit == server.bodyLimit)
    #expect(IncomingBody().timeout == server.bodyTimeout)
  }

  @Test("Limits on replies of servers") func servers() throws {
    try expect(
      "replies up to \(HTTPTransport.answerLimit >> 20) MiB", "manifests up to \(Manifest.sizeLimit >> 20) MiB are read"
    )
  }

  @Test("Limits of the speed test server") func speedTestServer() throws {
    let options = SpeedTestServer.Options(port: 0, access: .open)
    try expect(
      "\(options.connectionLimit.formatted(.number.locale(.init(identifier: "en_US")))) connections in all and "
        + "\(options.connectionsPerAddress) for each address or /64 network of IPv6",
      "a connection without a command for \(ServerConnection.Limits().idle.components.seconds) s")
    #expect(try SpeedTestServeCommand.parse(["--open"]).maxConnections == options.connectionLimit)
    #expect(try SpeedTestServeCommand.parse(["--open"]).maxPerAddress == options.connectionsPerAddress)
  }

  @Test("Limits of the relay of messages") func relay() throws {
    #expect(MessageRelay.interval == .seconds(180))
    try expect(
      "\(RelayListener.channelLimit) channels, \(MessageRelay.burst) messages of a device at once and one in three minutes"
    )
  }
}
