import DeterministicTesting
import Foundation
import Streams
import Testing

@testable import Coverage

/// Kills: the program that comes next has the files as they were at that instant, and a server that has not forgotten.
@Suite("Kills") struct KillTests {
  /// Returns the store of a program that is killed at a step of the sending, and the server as it was then.
  private func killed(at isDone: Bool, uuid: String?) async throws -> (CoverageStore, FakeServer, StoreFixture) {
    let fixture = try StoreFixture()
    try fixture.session("1", uuid: uuid, fences: 3)
    let copy = Lock<(store: CoverageStore, taken: Int)?>(nil)
    let failure = Lock<(any Error)?>(nil)
    let count = Lock(0)
    let server = FakeServer(
      fault: { _ in nil },
      onPost: { route, done in
        if route == .result, done { count.withLock { $0 += 1 } }
        guard route == .result, done == isDone else { return }
        do {
          let store = try fixture.copy()
          copy.withLock { $0 = (store, count.withLock { $0 }) }
        } catch {
          failure.withLock { $0 = error }
        }
      })
    if let uuid { server.grant(uuid) }
    _ = try await fixture.sender(server).send()
    if let error = failure.withLock({ $0 }) { throw error }
    let (store, taken) = try #require(copy.withLock { $0 })
    let next = FakeServer()
    // What the first program's server had not taken yet is still open at the one of the next.
    if taken == 0 { next.grant(uuid ?? "u1") }
    return (store, next, fixture)
  }

  @Test("A kill just before the request leads to one delivery", arguments: ["a", nil])
  func before(_ uuid: String?) async throws {
    let (store, server, fixture) = try await killed(at: false, uuid: uuid)
    let summary = try await fixture.sender(server, of: store).send()
    #expect(summary.reports.map(\.outcome) == [.delivered])
    #expect(server.taken.count == 1)
    #expect(try store.sessions().isEmpty)
  }

  @Test("A kill between the request and its reply leads to no second delivery", arguments: ["a", nil])
  func after(_ uuid: String?) async throws {
    let (store, server, fixture) = try await killed(at: true, uuid: uuid)
    let summary = try await fixture.sender(server, of: store).send()
    #expect(summary.reports.map(\.outcome) == [.delivered])
    #expect(server.taken.isEmpty)
    #expect(server.attempts == 1)
    #expect(try store.sessions().isEmpty)
  }

  @Test("A kill after any step of a run leaves a store whose fences are sent once") func everyStep() async throws {
    let fixture = try StoreFixture()
    let run = fixture.run("r")
    let steps: [([FenceMachine.Action], fences: Int)] = [
      ([], 0), ([.add(try StoreFixture.fence(1, at: 0))], 1), ([.assign("a")], 1),
      ([.add(try StoreFixture.fence(2, at: 20))], 2), ([.remove(number: 2)], 1),
      ([.add(try StoreFixture.fence(3, at: 30)), .begin("b")], 2), ([.add(try StoreFixture.fence(4, at: 50))], 3),
      ([.update(try StoreFixture.fence(4, at: 50))], 3), ([.finalise], 3),
    ]
    try fixture.store.begin(run)
    for (number, step) in steps.enumerated() {
      try fixture.store.apply(step.0, of: run, at: .seconds(number * 10))
      let server = FakeServer()
      for uuid in ["a", "b"] { server.grant(uuid) }
      let next = try fixture.copy()
      _ = try await fixture.sender(server, of: next).send()
      #expect(server.state.withLock { $0.taken.map(\.fences.count).reduce(0, +) } == step.fences, "step \(number)")
      #expect(try next.sessions().isEmpty, "step \(number)")
    }
  }

  /// A program that measures and sends in several lives, on a line with faults.
  private struct Lives {
    let fixture: StoreFixture
    let server: FakeServer
    private let random: Lock<SeededGenerator>
    private let isCalm = Lock(false)
    private(set) var stored: Set<Int> = []

    init(_ seed: UInt64) throws {
      fixture = try StoreFixture()
      random = Lock(SeededGenerator(seed: seed))
      server = FakeServer { [random, isCalm] _ in
        guard !isCalm.withLock({ $0 }) else { return nil }
        return random.withLock { random in
          guard Int.random(in: 0..<100, using: &random) < 60 else { return nil }
          return [FakeServer.Fault.unreachable, .lostReply, .failure, .failureAfterwards, .portal]
            .randomElement(using: &random)
        }
      }
    }

    func chance(_ percent: Int) -> Bool { random.withLock { Int.random(in: 0..<100, using: &$0) < percent } }

    mutating func live(_ life: Int) async throws {
      let run = fixture.run("life \(life)")
      try fixture.store.begin(run)
      for part in 0..<3 {
        let number = life * 10 + part
        if part > 0 || chance(70) {
          let uuid = "g\(number)"
          server.grant(uuid)
          let action: FenceMachine.Action = part == 0 ? .assign(uuid) : .begin(uuid)
          try fixture.store.apply([action], of: run, at: .seconds(part * 20))
        }
        let fence = try StoreFixture.fence(number + 1, at: Double(part * 20))
        try fixture.store.apply([.add(fence)], of: run, at: .seconds(1))
        stored.insert(number + 1)
        if chance(50) { _ = try await fixture.sender(server).sendFinished() }
      }
      // Half of the lives are killed before their end is stored.
      if chance(50) { try fixture.store.apply([.finalise], of: run, at: .seconds(60)) }
      fixture.pass(milliseconds: 3_600_000)
      if chance(50) { _ = try await fixture.sender(server).send() }
    }

    func sendTheRest() async throws {
      isCalm.withLock { $0 = true }
      for _ in 0..<3 {
        _ = try await fixture.sender(server).send()
        fixture.pass(milliseconds: 3_600_000)
      }
    }
  }

  @Test("Random lives with kills, faults and outages deliver every fence once", arguments: 0..<20)
  func lives(_ seed: UInt64) async throws {
    var lives = try Lives(seed)
    for life in 0..<6 { try await lives.live(life) }
    try await lives.sendTheRest()
    let delivered = lives.server.state.withLock { state in
      state.taken.flatMap(\.fences).compactMap { fence in
        // Fences lie 50 m apart, by their numbers.
        ((fence["location"] as? [String: Any])?["latitude"] as? Double).map {
          Int((($0 - 48) * 111_195 / 50).rounded())
        }
      }
    }
    #expect(delivered.sorted() == lives.stored.sorted(), "seed \(seed)")
    #expect(try lives.fixture.store.sessions().isEmpty)
  }
}
