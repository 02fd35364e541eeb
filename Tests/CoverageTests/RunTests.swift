import Foundation
import JSONValues
import Streams
import Testing

@testable import Coverage

/// Runs over real sockets, with the clock of the machine.
@Suite("Runs", .timeLimit(.minutes(5))) struct RunTests {
  private let fixture: StoreFixture
  private let pings: PingServer

  init() throws {
    fixture = try StoreFixture()
    pings = try PingServer()
  }

  /// A control server whose grants name the ping server of the test.
  private struct Granting: CoverageTransport {
    let inner: FakeServer
    let port: Int

    func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply {
      var reply = try await inner.post(route, members: members)
      let text = String(decoding: reply.body, as: UTF8.self)
      reply.body = Data(text.replacing(#""ping_port":"9""#, with: #""ping_port":"\#(port)""#).utf8)
      return reply
    }
  }

  private func run(_ server: FakeServer, limit: Duration = .seconds(3600)) -> CoverageRun {
    var options = CoverageRun.Options()
    options.limit = limit
    return CoverageRun(
      store: fixture.store, server: StoreFixture.server, transport: Granting(inner: server, port: pings.port),
      surroundings: (.unknown, .unknown), options: options)
  }

  @Test("A run pings, stores its fence, and what it stored is sent once") func aRun() async throws {
    let server = FakeServer()
    let run = run(server)
    let task = Task { try await run.measure() }
    run.take(.location(try #require(FenceDriver.place(0))))
    let status = try await run.update { $0.pings.answered >= 5 }
    #expect(status.session == "u1")
    #expect(status.fences == 1)
    #expect(status.technology == .unknown)
    run.take(.location(try #require(FenceDriver.place(100))))
    _ = try await run.update { $0.fences == 2 }
    task.cancel()
    #expect(try await task.value == .stopped)
    let session = try #require(try fixture.store.sessions().first)
    #expect(session.fences == 2)
    #expect(session.finalizedUs != nil)
    let first = try #require(try fixture.store.fences(of: session.id).first)
    #expect(first.answered >= 5)
    #expect(first.mean != nil)
    let summary = try await fixture.sender(server).send()
    #expect(summary.reports.map(\.outcome) == [.delivered])
    #expect(server.state.withLock { $0.taken.map(\.fences.count) } == [2])
  }

  @Test("A silent ping server is a place without coverage") func silence() async throws {
    pings.answer { _ in nil }
    let run = run(FakeServer())
    let task = Task { try await run.measure() }
    run.take(.location(try #require(FenceDriver.place(0))))
    _ = try await run.update { $0.pings.lost >= 3 }
    task.cancel()
    _ = try await task.value
    let session = try #require(try fixture.store.sessions().first)
    #expect(try fixture.store.fences(of: session.id).map(\.isUncovered) == [true])
  }

  @Test("8: A refused token leads to another session, with the chain of the first one") func refusal() async throws {
    let isFirst = Lock(true)
    pings.answer { request in
      let kind = isFirst.withLock { first in
        defer { first = false }
        return first ? "RE01" : "RR01"
      }
      return Array(kind.utf8) + request[4..<8]
    }
    let server = FakeServer()
    let run = run(server)
    let task = Task { try await run.measure() }
    let status = try await run.update { $0.pings.answered >= 1 }
    #expect(status.session == "u2")
    task.cancel()
    _ = try await task.value
    #expect(server.state.withLock { $0.requests.map { $0["loop_uuid"] as? String } } == [nil, "L1"])
  }

  @Test("23: A run without a server stores its fences, and ends when its task is cancelled") func offline() async throws
  {
    let server = FakeServer { _ in .unreachable }
    let run = run(server)
    let task = Task { try await run.measure() }
    run.take(.location(try #require(FenceDriver.place(0))))
    let status = try await run.update { $0.fences == 1 && $0.problem != nil }
    #expect(status.problem == "no server responds")
    #expect(status.session == nil)
    task.cancel()
    #expect(try await task.value == .stopped)
    #expect(try fixture.store.sessions().map(\.fences) == [1])
    #expect(pings.count == 0)
  }

  @Test("A run ends at its limit, and a second one beside it is refused") func limits() async throws {
    let server = FakeServer()
    let first = run(server)
    let task = Task { try await first.measure() }
    _ = try await first.update { _ in true }
    let error = await #expect(throws: CoverageError.self) { try await run(FakeServer()).measure() }
    #expect(error?.code == .busy)
    task.cancel()
    _ = try await task.value
    let second = run(server, limit: .seconds(1))
    #expect(try await second.measure() == .timeLimit)
    #expect(try fixture.store.sessions().allSatisfy { $0.finalizedUs != nil })
  }
}
