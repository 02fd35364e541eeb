import DBus
import DBusTesting
import Foundation
import Glibc
import Streams
import SystemTesting
import Testing

@Suite("Tasks on the connection's own thread", .timeLimit(.minutes(5)))
struct ExecutorTests {
  /// What tells the thread that runs this from all others.
  private static func thread() -> pthread_t { pthread_self() }

  @Test("Calls, streams and child tasks on the connection's executor all run on one thread")
  func oneThread() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try CallTests.export(server)
    let client = try await bus.connect()
    let own = Lock<pthread_t?>(nil)
    let observer = try await client.observe(MatchRule(interface: "org.edgeblue.Tick1")) { _ in
      own.withLock { $0 = Self.thread() }
    }
    let ticks = try await client.signals(MatchRule(interface: "org.edgeblue.Tick1"), limit: 100)
    let threads = try await within {
      try await withTaskExecutorPreference(client.executor) {
        try await withThrowingTaskGroup(of: pthread_t.self) { group in
          for worker in 0..<8 {
            group.addTask {
              for number in 0..<50 {
                let reply = try await client.call(
                  server.name, "/calls", CallTests.interface, "Double", [.uint32(UInt32(number))])
                #expect(reply == [.uint32(UInt32(2 * number))])
                if worker == 0 { try server.connection.emit("/tick", "org.edgeblue.Tick1", "Tick") }
              }
              return Self.thread()
            }
          }
          group.addTask {
            var heard = 0
            for await _ in ticks {
              heard += 1
              if heard == 50 { break }
            }
            return Self.thread()
          }
          return try await group.reduce(into: Set<pthread_t>()) { $0.insert($1) }
        }
      }
    }
    #expect(threads == [try #require(own.withLock { $0 })])
    observer.cancel()
    withExtendedLifetime(object) {}
  }

  @Test("A task that never suspends on the executor does not block the bus")
  func restless() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try CallTests.export(server)
    let client = try await bus.connect()
    let restless = Task(executorPreference: client.executor) {
      while !Task.isCancelled { await Task.yield() }
    }
    defer { restless.cancel() }
    try await within {
      for _ in 0..<100 { try await client.call(server.name, "/calls", CallTests.interface, "Double", [.uint32(1)]) }
    }
    restless.cancel()
    await restless.value
    withExtendedLifetime(object) {}
  }

  @Test("Tasks outlast the connection: pending calls fail, and later work runs on another thread")
  func afterTheEnd() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try CallTests.export(server)
    let client = try await bus.connect()
    let tasks = (0..<20).map { _ in
      Task(executorPreference: client.executor) {
        let error = try await dbusError {
          try await client.call(server.name, "/calls", CallTests.interface, "Never", options: .init(timeout: nil))
        }
        for _ in 0..<100 { await Task.yield() }
        return error?.code
      }
    }
    try await SignalTests.settle(client, server.connection)
    client.close()
    try await within {
      for task in tasks {
        let code = try await task.value
        #expect(code == .disconnected)
      }
      let late = await Task(executorPreference: client.executor) { client.isOpen }.value
      #expect(!late)
    }
    withExtendedLifetime(object) {}
  }
}
