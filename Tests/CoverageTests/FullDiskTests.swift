import Foundation
import Streams
import SystemTesting
import Testing

@testable import Coverage

/// A full disk: the kernel refuses, not a fake.
@Suite(
  "The stored sessions on a full disk",
  .enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"), .timeLimit(.minutes(5)))
struct FullDiskTests {
  private let disk: SmallDisk
  private let store: CoverageStore
  private let wall = Lock(StoreFixture.start)

  init() throws {
    disk = try SmallDisk(megabytes: 2)
    store = try CoverageStore(path: disk.path + "/c.sqlite") { [wall] in wall.withLock { $0 } }
  }

  private func run(_ id: String) -> CoverageRunID {
    CoverageRunID(id: id, server: StoreFixture.server, startUs: StoreFixture.start * 1000)
  }

  private func session(_ uuid: String?, fences: Int = 3) throws {
    let run = run(uuid ?? "nameless")
    try store.begin(run)
    if let uuid { try store.apply([.assign(uuid)], of: run, at: .zero) }
    let added = try (1...fences).map { FenceMachine.Action.add(try StoreFixture.fence($0, at: Double($0) * 10)) }
    try store.apply(added + [.finalise], of: run, at: .seconds(600))
  }

  private func sender(_ server: FakeServer) -> CoverageSender {
    CoverageSender(store: store, server: StoreFixture.server, transport: server) { 1 }
  }

  /// Fills the disk when a closure says so.
  private func server(filling isWanted: @escaping @Sendable (CoverageRoute, Bool) -> Bool) -> FakeServer {
    FakeServer(
      onPost: { [disk] route, isDone in
        guard isWanted(route, isDone) else { return }
        do { try disk.fill() } catch { Issue.record(error) }
      })
  }

  private func makeRoom() throws { try FileManager.default.removeItem(atPath: disk.path + "/filler") }

  @Test("Nothing is sent that cannot be marked before, and the error names the disk") func beforeSending() async throws
  {
    try session("a")
    let server = FakeServer()
    server.grant("a")
    try disk.fill()
    let error = await #expect(throws: CoverageError.self) { _ = try await sender(server).send() }
    #expect(error?.code == .noSpace)
    #expect(error?.message.contains("space left on") == true)
    #expect(server.attempts == 0)
    try makeRoom()
    #expect(try await sender(server).send().reports.map(\.outcome) == [.delivered])
    #expect(server.taken == ["a"])
  }

  @Test("A disk that fills up while a session is sent leads to no second delivery") func whileSending() async throws {
    try session("a")
    try session("b")
    let server = server { route, isDone in route == .result && isDone }
    for uuid in ["a", "b"] { server.grant(uuid) }
    let error = await #expect(throws: CoverageError.self) { _ = try await sender(server).send() }
    #expect(error?.code == .noSpace)
    #expect(server.taken == ["a"])
    #expect(try store.sessions().map(\.uuid) == ["a", "b"])
    try makeRoom()
    let next = FakeServer()
    next.grant("b")
    let reports = try await sender(next).send().reports
    #expect(reports.map(\.outcome) == [.delivered, .delivered])
    #expect(next.taken == ["b"])
    #expect(try store.sessions().isEmpty)
  }

  @Test("A grant that cannot be stored is requested again, and its fences are sent once") func whileAnchoring()
    async throws
  {
    try session(nil)
    let server = server { route, isDone in route == .request && isDone }
    let error = await #expect(throws: CoverageError.self) { _ = try await sender(server).send() }
    #expect(error?.code == .noSpace)
    #expect(server.attempts == 0)
    try makeRoom()
    let next = FakeServer()
    #expect(try await sender(next).send().reports.map(\.outcome) == [.delivered])
    #expect(next.state.withLock { $0.taken.map(\.fences.count) } == [3])
  }

  @Test("A store that cannot be created is named") func creating() throws {
    try disk.fill()
    let error = #expect(throws: CoverageError.self) { try CoverageStore(path: disk.path + "/d.sqlite") }
    #expect(error?.code == .noSpace)
    #expect(error?.message.contains("space left on") == true)
  }

  @Test("A run on a full disk says so, measures on, and stores everything when there is room") func whileMeasuring()
    async throws
  {
    // Without a server the run has one session.
    let server = FakeServer { _ in .unreachable }
    let run = CoverageRun(
      store: store, server: StoreFixture.server, transport: server, surroundings: (.cellular, .lte))
    let task = Task { try await run.measure() }
    run.take(.location(try #require(FenceDriver.place(0))))
    _ = try await run.update { $0.fences == 1 }
    try disk.fill()
    for number in 1...3 {
      run.take(.location(try #require(FenceDriver.place(Double(number) * 100))))
      _ = try await run.update { $0.fences == number + 1 }
    }
    let full = try await run.update { $0.problem?.hasPrefix("store fences") == true }
    #expect(full.problem?.contains("there is no space left on the disk") == true)
    let session = try #require(try store.sessions().first)
    #expect(session.fences < 3)
    try makeRoom()
    _ = try await run.update { $0.problem?.hasPrefix("store fences") != true }
    #expect(try store.fences(of: session.id).map(\.number).starts(with: [1, 2, 3]))
    task.cancel()
    #expect(try await task.value == .stopped)
    #expect(try store.fences(of: session.id).map(\.number) == [1, 2, 3, 4])
    #expect(try store.sessions().count == 1)
  }

  @Test("A run that ends on a full disk says so, and what was stored before is sent once") func ending() async throws {
    let server = FakeServer { _ in .unreachable }
    let run = CoverageRun(
      store: store, server: StoreFixture.server, transport: server, surroundings: (.cellular, .lte))
    let task = Task { try await run.measure() }
    for number in 0...1 {
      run.take(.location(try #require(FenceDriver.place(Double(number) * 100))))
      _ = try await run.update { $0.fences == number + 1 }
    }
    try disk.fill()
    task.cancel()
    let error = await #expect(throws: CoverageError.self) { _ = try await task.value }
    #expect(error?.code == .noSpace)
    // The first fence, and the second one if its first 10 s were over before the disk was full.
    let stored = try #require(try store.sessions().first).fences
    #expect((1...2).contains(stored))
    try makeRoom()
    let next = FakeServer()
    _ = try await sender(next).send()
    #expect(next.state.withLock { $0.taken.map(\.fences.count) } == [stored])
    #expect(try store.sessions().isEmpty)
  }
}
