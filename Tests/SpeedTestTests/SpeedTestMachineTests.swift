import Testing

@testable import SpeedTest

/// A server and a clock for the machine: every connection takes a fixed time for a byte and a round trip.
private struct Simulation {
  var machine: SpeedTestMachine
  var now = Duration.zero
  var nanosecondsPerByte: [Int: Int]
  /// Downloads that do not end as they should, by connection.
  var cutOff: Set<Int> = []
  private(set) var phases: [SpeedTestPhase] = []
  private(set) var exchanges: [Int: [Exchange]] = [:]
  private(set) var connects: [Int] = []
  private(set) var open: Set<Int> = []
  private(set) var result: SpeedTestResult?

  init(_ plan: SpeedTestPlan, nanosecondsPerByte: [Int: Int]) {
    machine = SpeedTestMachine(plan)
    self.nanosecondsPerByte = nanosecondsPerByte
  }

  /// Runs until nothing is left to do, or an exchange for which `stop` returns an event.
  mutating func run(stop: (Exchange) -> SpeedTestMachine.Event? = { _ in nil }) {
    var waiting: [(at: Duration, event: SpeedTestMachine.Event)] = [(.zero, .start)]
    while let next = waiting.indices.min(by: { waiting[$0].at < waiting[$1].at }) {
      let (at, event) = waiting.remove(at: next)
      now = max(now, at)
      for action in machine.handle(event, at: now) {
        if let answer = perform(action, stop) { waiting.append(answer) }
      }
    }
  }

  private mutating func perform(
    _ action: SpeedTestMachine.Action, _ stop: (Exchange) -> SpeedTestMachine.Event?
  ) -> (Duration, SpeedTestMachine.Event)? {
    switch action {
    case .connect(let index):
      connects.append(index)
      open.insert(index)
      return (now + .milliseconds(10), .ready(index, RMBT.ChunkLimits()))
    case .run(let index, let exchange):
      exchanges[index, default: []].append(exchange)
      if let event = stop(exchange) { return (now, event) }
      let report = report(of: exchange, on: index)
      return (now + report.clientTime, .finished(index, report))
    case .close(let index): open.remove(index)
    case .enter(let phase): phases.append(phase)
    case .finish(let result): self.result = result
    }
    return nil
  }

  private func report(of exchange: Exchange, on index: Int) -> ExchangeReport {
    var report = ExchangeReport(exchange, start: now)
    let perByte = nanosecondsPerByte[index] ?? 1
    switch exchange {
    case .getChunks(let count, let size), .putNoResult(let count, let size):
      report.bytes = UInt64(count * size)
      report.clientTime = .nanoseconds(count * size * perByte)
    case .getTime(let seconds, _), .put(let seconds, _):
      report.clientTime = .seconds(seconds)
      report.bytes = UInt64(seconds * 1_000_000_000 / perByte)
      report.samples = [ThroughputSample(nanoseconds: report.clientTime.wholeNanoseconds, bytes: report.bytes)]
    case .ping: report.clientTime = .milliseconds(20)
    }
    if case .getTime = exchange, cutOff.contains(index) { return report }
    report.serverTime = report.clientTime.wholeNanoseconds
    return report
  }
}

@Suite struct SpeedTestMachineTests {
  /// 8 Mbit/s for each connection.
  private let even = [0: 1000, 1: 1000, 2: 1000]

  private func plan(threads: Int = 3, upload: Bool = true) throws -> SpeedTestPlan {
    try SpeedTestPlan(threads: threads, seconds: 7, includesUpload: upload)
  }

  @Test("All phases run in order, on all connections, and the rates are those of the link") func aWholeTest() throws {
    var simulation = Simulation(try plan(), nanosecondsPerByte: even)
    simulation.run()
    let result = try #require(simulation.result)
    #expect(simulation.phases == SpeedTestPhase.allCases)
    #expect(result.failure == nil)
    #expect(result.threads == 3)
    #expect(abs(try #require(result.download).throughput.bitsPerSecond - 24e6) < 1)
    #expect(abs(try #require(result.upload).throughput.bitsPerSecond - 24e6) < 1)
    #expect(result.pings.count == 50)
    #expect(simulation.open.isEmpty)
    #expect(simulation.connects == [0, 1, 2])
  }

  @Test("A pretest doubles the count to 8, then the size to 1 MiB, then the count") func thePretest() throws {
    var simulation = Simulation(try plan(threads: 1), nanosecondsPerByte: [0: 1])
    simulation.run()
    let steps = try #require(simulation.exchanges[0]).compactMap { exchange -> [Int]? in
      if case .getChunks(let count, let size) = exchange { [count, size] } else { nil }
    }
    #expect(steps[0...3] == [[1, 4096], [2, 4096], [4, 4096], [8, 4096]])
    #expect(steps[4] == [8, 8192])
    #expect(steps[11...12] == [[8, 1_048_576], [16, 1_048_576]])
    #expect(steps.allSatisfy { RMBT.chunkCounts.contains($0[0]) })
  }

  @Test(
    "The chunk size takes about 20 ms of one connection's rate, and is at most 1 MiB",
    arguments: [(1000, 16_384), (15, 1_048_576), (1, 1_048_576), (9999, 4096)])
  func theChunkSize(perByte: Int, size: Int) throws {
    var simulation = Simulation(try plan(threads: 1), nanosecondsPerByte: [0: perByte])
    simulation.run()
    #expect(simulation.result?.download?.chunkSize == size)
    #expect(simulation.exchanges[0]?.contains(.getTime(seconds: 7, size: size)) == true)
    #expect(simulation.exchanges[0]?.contains(.put(seconds: 7, size: size)) == true)
  }

  @Test("One slow connection of three changes nothing, two leave one connection", arguments: [1, 2])
  func theReduction(slow: Int) throws {
    // 4 KB/s: the first chunk takes more than a second, the second step more than two.
    let rates = [0: 1000, 1: 250_000, 2: slow == 2 ? 250_000 : 1000]
    var simulation = Simulation(try plan(), nanosecondsPerByte: rates)
    simulation.run()
    #expect(simulation.result?.threads == (slow == 2 ? 1 : 3))
    #expect(simulation.result?.download?.samples.count == (slow == 2 ? 1 : 3))
    #expect(simulation.result?.failure == nil)
  }

  @Test("A single slow connection finishes") func oneSlowConnection() throws {
    var simulation = Simulation(try plan(threads: 1), nanosecondsPerByte: [0: 500_000])
    simulation.run()
    #expect(simulation.result?.failure == nil)
    #expect(simulation.result?.upload != nil)
  }

  @Test("Pings stop at 10 on a slow link and at 200 on a fast one") func theNumberOfPings() throws {
    for (interval, count) in [(Duration.milliseconds(500), 10), (.microseconds(10), 200)] {
      var machine = SpeedTestMachine(try plan(threads: 1))
      var now = Duration.zero
      _ = machine.handle(.start, at: now)
      var actions = machine.handle(.ready(0, RMBT.ChunkLimits()), at: now)
      var pings = 0
      while case .run(0, let exchange)? = actions.last, pings < 500 {
        if case .getTime = exchange { break }
        var report = ExchangeReport(exchange, start: now)
        now += exchange == .ping ? interval : .seconds(3)
        report.serverTime = 1
        pings += exchange == .ping ? 1 : 0
        actions = machine.handle(.finished(0, report), at: now)
      }
      #expect(pings == count)
    }
  }

  @Test("A download that was cut off counts, and its connection is made anew for the upload") func aCutDownload() throws
  {
    var simulation = Simulation(try plan(), nanosecondsPerByte: even)
    simulation.cutOff = [1]
    simulation.run()
    #expect(simulation.connects == [0, 1, 2, 1])
    #expect(simulation.result?.failure == nil)
    #expect(simulation.result?.upload?.samples.count == 3)
    #expect(simulation.open.isEmpty)
  }

  @Test("Without an upload the test ends after the download") func noUpload() throws {
    var simulation = Simulation(try plan(upload: false), nanosecondsPerByte: even)
    simulation.run()
    #expect(simulation.phases == [.connecting, .downloadPretest, .latency, .download, .finished])
    #expect(simulation.result?.upload == nil)
    #expect(simulation.result?.failure == nil)
  }

  @Test("A failure in any phase ends the test, keeps what was measured, and closes every connection", arguments: 0..<5)
  func aFailure(place: Int) throws {
    let phases: [SpeedTestPhase] = [.downloadPretest, .latency, .download, .uploadPretest, .upload]
    let names = ["GETCHUNKS", "PING", "GETTIME", "PUTNORESULT", "PUT"]
    let error = SpeedTestError(.connectionClosed, "gone")
    var simulation = Simulation(try plan(), nanosecondsPerByte: even)
    simulation.run { $0.name == names[place] ? .failed(0, error) : nil }
    let result = try #require(simulation.result)
    #expect(result.failure == .init(phase: phases[place], error: error))
    #expect((result.download != nil) == (place > 2))
    #expect(result.upload == nil)
    #expect(simulation.open.isEmpty)
  }

  @Test("A cancelled test ends at once, and nothing follows") func cancelled() throws {
    var machine = SpeedTestMachine(try plan())
    _ = machine.handle(.start, at: .zero)
    let actions = machine.handle(.cancel, at: .zero)
    #expect(actions.prefix(3) == [.close(0), .close(1), .close(2)])
    #expect(actions.count == 5)
    #expect(machine.handle(.ready(0, RMBT.ChunkLimits()), at: .zero).isEmpty)
    #expect(machine.handle(.cancel, at: .zero).isEmpty)
  }

  @Test("Threads and durations out of range are errors", arguments: [(0, 7), (121, 7), (3, 0), (3, 31)])
  func outOfRange(threads: Int, seconds: Int) {
    #expect(throws: SpeedTestError.self) { try SpeedTestPlan(threads: threads, seconds: seconds) }
  }
}
