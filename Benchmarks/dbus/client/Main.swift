import DBus
import Glibc

/// EdgeBlue's client:  dbus-client [--executor] ADDRESS CASE COUNT
///
/// With `--executor` its tasks run on the connection's own thread.
@main
struct Main {
  static let name = "org.edgeblue.Bench"
  static let path: ObjectPath = "/org/edgeblue/bench"
  static let interface = "org.edgeblue.Bench1"
  static let window = 64
  static let payload = [UInt8](repeating: 0, count: 512)

  /// What went wrong, for the person who runs the benchmark.
  struct Failure: Error { let what: String }

  let bus: Connection

  static func main() async throws {
    var arguments = Array(CommandLine.arguments.dropFirst())
    let usesExecutor = arguments.first == "--executor"
    if usesExecutor { arguments.removeFirst() }
    guard arguments.count == 3, let count = Int(arguments[2]) else {
      throw Failure(what: "usage: dbus-client [--executor] ADDRESS CASE COUNT")
    }
    let client = Main(bus: try await .open(.address(arguments[0])))
    let what = arguments[1]
    try await withTaskExecutorPreference(usesExecutor ? client.bus.executor : nil) {
      try await client.measure(what, count)
    }
  }

  private func measure(_ what: String, _ count: Int) async throws {
    try await run(what, count / 10 + 1)
    let wall = ContinuousClock.now
    let cpu = Self.cpuSeconds()
    try await run(what, count)
    let seconds = (ContinuousClock.now - wall) / .seconds(1)
    print(count, seconds, Self.cpuSeconds() - cpu)
  }

  private static func cpuSeconds() -> Double {
    var use = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &use)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(use.ru_utime) + seconds(use.ru_stime)
  }

  private func run(_ what: String, _ count: Int) async throws {
    switch what {
    case "ping": try await concurrent(count, window: 1) { try await call("Ping") }
    case "ping64": try await concurrent(count, window: Self.window) { try await call("Ping") }
    case "echo64":
      try await concurrent(count, window: Self.window) {
        let reply = try await call("Echo", [.bytes(Self.payload)])
        guard reply[0].bytes?.count == Self.payload.count else { throw Failure(what: "echo: wrong reply") }
      }
    case "managed":
      try await concurrent(count, window: 1) {
        let reply = try await call("Managed")
        guard reply[0].entries?.count == 30 else { throw Failure(what: "managed: wrong reply") }
      }
    case "signals": try await signals(count)
    default: throw Failure(what: "\(what): no such case")
    }
  }

  @discardableResult
  private func call(_ member: String, _ arguments: [Value] = []) async throws -> [Value] {
    try await bus.call(Self.name, Self.path, Self.interface, member, arguments)
  }

  private func concurrent(
    _ count: Int, window: Int, _ one: @escaping @Sendable () async throws -> Void
  ) async throws {
    if window == 1 {
      for _ in 0..<count { try await one() }
      return
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<window {
        group.addTask { for _ in stride(from: worker, to: count, by: window) { try await one() } }
      }
      try await group.waitForAll()
    }
  }

  /// Through a stream, as a program reads signals; it has room for all, so that none is dropped.
  private func signals(_ count: Int) async throws {
    let ticks = try await bus.signals(
      MatchRule(sender: Self.name, interface: Self.interface, member: "Tick"), limit: count)
    async let burst = call("Burst", [.uint32(UInt32(count))])
    var next: UInt32 = 0
    for await tick in ticks {
      guard tick.arguments.count == 2, tick.arguments[0] == .uint32(next), tick.arguments[1].bytes?.count == 20 else {
        throw Failure(what: "signals: out of order")
      }
      next += 1
      if next == count { break }
    }
    _ = try await burst
  }
}
