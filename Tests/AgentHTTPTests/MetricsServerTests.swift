import Agent
import AgentHTTP
import AsyncHTTPClient
import Logging
import NIOCore
import ServiceLifecycle
import Streams
import Testing

@Suite("The metrics server", .timeLimit(.minutes(5))) struct MetricsServerTests {
  @Test("The server returns the present metrics") func theNumbersOfTheMomentAreServed() async throws {
    let count = Lock(0)
    let (ports, opened) = BoundedStream.make(of: Int.self, limit: 1)
    let server = MetricsServer(port: 0, logger: Logger(label: "test"), onListening: { opened.yield($0) }) {
      let now = count.withLock { count in
        count += 1
        return count
      }
      return [Metric("calls_total", .counter, "Calls.", now)]
    }
    let group = ServiceGroup(services: [server], logger: Logger(label: "test"))
    let work = Task { try await group.run() }
    let port = try #require(await ports.first { _ in true })
    for number in 1...2 {
      let answer = try await get("http://127.0.0.1:\(port)/metrics")
      #expect(answer.status == 200)
      #expect(answer.type == Metric.contentType)
      #expect(answer.body == "# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total \(number)\n")
    }
    #expect(try await get("http://127.0.0.1:\(port)/").status == 404)
    await group.triggerGracefulShutdown()
    try await work.value
  }

  private func get(_ url: String) async throws -> (status: UInt, type: String?, body: String) {
    let answer = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(10))
    let body = try await answer.body.collect(upTo: 1 << 16)
    return (answer.status.code, answer.headers.first(name: "content-type"), String(buffer: body))
  }
}
