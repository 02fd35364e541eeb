import Foundation
import Hummingbird
import Logging
import SystemTesting
import Testing

@testable import IncomingHTTP

/// The front of every HTTP server, as it runs in the product: HummingbirdTesting has a way of its own to run one.
@Suite("The front of HTTP servers", .timeLimit(.minutes(5))) struct FrontTests {
  private struct Unexpected: Error {}

  /// Returns what a client receives that sends some text to a front.
  private func exchange(_ text: String) async throws -> String {
    let router = Router()
    router.get("/") { _, _ in "hello" }
    router.post("/echo") { request, _ in Response(status: .ok, body: .init(asyncSequence: request.body)) }
    router.get("/fails") { _, _ -> String in throw Unexpected() }
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let front = IncomingHTTPServer(
      port: 0, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, onListening: { listening.yield($0) })
    let running = Task { try await front.run(front.application(router)) }
    var port: Int?
    for await number in ports {
      port = number
      break
    }
    let reply = try await RawClient.exchange(port: try #require(port), text)
    running.cancel()
    try await running.value
    return reply
  }

  private func field(_ name: String, in reply: String) -> String? {
    let line = reply.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ": ") }
    return line.map { String($0.dropFirst(name.count + 2)) }
  }

  @Test("Responses have the present date and the name of the server") func responsesHaveTheDate() async throws {
    let before = Date()
    let reply = try await exchange("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    let after = Date()
    #expect(reply.hasPrefix("HTTP/1.1 200 "))
    #expect(reply.hasSuffix("\r\n\r\nhello"))
    #expect(field("server", in: reply) == "edgeblue")
    let date = try #require(field("date", in: reply).flatMap { Self.formatter.date(from: $0) })
    #expect(date.timeIntervalSince(before) > -1)
    #expect(date <= after)
  }

  @Test("Each request of a connection is answered, in order") func requestsAreAnsweredInOrder() async throws {
    let echo = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n"
    let reply = try await exchange(
      echo + "one" + echo + "two" + "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    #expect(reply.components(separatedBy: "HTTP/1.1 200 ").count == 4)
    let places = try ["one", "two", "hello"].map { try #require(reply.range(of: $0)).lowerBound }
    #expect(places == places.sorted())
  }

  @Test("An unexpected error is 500, with a date") func anUnexpectedErrorIs500() async throws {
    let reply = try await exchange("GET /fails HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    #expect(reply.hasPrefix("HTTP/1.1 500 "))
    #expect(field("date", in: reply) != nil)
    #expect(!reply.contains("Unexpected"))
  }

  @Test("What is not HTTP is 400, and ends the connection") func whatIsNotHTTPIs400() async throws {
    #expect(try await exchange("NOT HTTP AT ALL\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
  }

  @Test("A body that stops to be HTTP while it is answered ends the connection within the response")
  func aBodyThatStopsToBeHTTP() async throws {
    let head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    let reply = try await exchange(head + "3\r\none\r\nno length\r\n")
    #expect(reply.components(separatedBy: "HTTP/1.1 ").count == 2, "\(reply)")
    #expect(!reply.hasSuffix("0\r\n\r\n"))
  }

  @Test("Dates are those of RFC 9110") func dates() {
    #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    for day in stride(from: -40_000, to: 2_900_000, by: 997) {
      let seconds = day * 86_400 + day
      let date = Date(timeIntervalSince1970: TimeInterval(seconds))
      #expect(HTTPDate.text(Int64(seconds)) == Self.formatter.string(from: date))
    }
  }

  private static var formatter: DateFormatter {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter
  }
}
