import DeterministicTesting
import Dispatch
import Streams
import Testing

@Suite("Bounded streams", .timeLimit(.minutes(5)))
struct BoundedStreamTests {
  /// Says when the last reference to it goes.
  final class Token: Sendable {
    let gone: Lock<Int>
    init(_ gone: Lock<Int>) { self.gone = gone }
    deinit { gone.withLock { $0 += 1 } }
  }

  @Test("The overflow policy drops the oldest or the newest elements, and counts them")
  func policies() async {
    let (oldest, first) = BoundedStream.make(of: Int.self, limit: 3, policy: .dropOldest)
    let (newest, second) = BoundedStream.make(of: Int.self, limit: 3, policy: .dropNewest)
    #expect((0..<8).map { first.yield($0) } == [true, true, true, false, false, false, false, false])
    #expect((0..<8).map { second.yield($0) } == [true, true, true, false, false, false, false, false])
    first.finish()
    second.finish()
    #expect(oldest.dropped == 5)
    #expect(newest.dropped == 5)
    #expect(!first.yield(9), "nobody takes it any more")
    #expect(await oldest.reduce(into: []) { $0.append($1) } == [5, 6, 7])
    #expect(await newest.reduce(into: []) { $0.append($1) } == [0, 1, 2])
  }

  @Test("A stream that must be complete ends with its marker, wherever it was full", arguments: [false, true])
  func marker(isFull: Bool) async {
    let ended = Lock(0)
    let (stream, source) = BoundedStream.make(
      of: Int.self, limit: 4, policy: .dropNewest, onTermination: { ended.withLock { $0 += 1 } })
    #expect([1, 2, 3].map { source.yield($0, orEndWith: -1) } == [true, true, true])
    #expect(ended.withLock { $0 } == 0)
    // Who puts in without a thought for the marker may take its place.
    if isFull { #expect(source.yield(4)) }
    #expect([5, 6].map { source.yield($0, orEndWith: -1) } == [false, false])
    #expect(ended.withLock { $0 } == 1)
    #expect(stream.dropped == (isFull ? 2 : 1))
    #expect(await stream.reduce(into: []) { $0.append($1) } == [1, 2, 3, -1])
    #expect(ended.withLock { $0 } == 1)
  }

  @Test("The ring buffer wraps and grows without a change of the order", arguments: [1, 2, 7, 8, 9, 100])
  func ring(limit: Int) async {
    let (stream, source) = BoundedStream.make(of: Int.self, limit: limit)
    var iterator = stream.makeAsyncIterator()
    var random = SeededGenerator(seed: UInt64(limit))
    var model: [Int] = []
    var next = 0
    var dropped = 0
    for _ in 0..<2000 {
      if Bool.random(using: &random) {
        #expect(source.yield(next) == (model.count < limit))
        model.append(next)
        next += 1
        if model.count > limit {
          model.removeFirst()
          dropped += 1
        }
      } else if !model.isEmpty {
        #expect(await iterator.next() == model.removeFirst())
      }
    }
    #expect(stream.dropped == dropped)
  }

  @Test("A waiting consumer gets every element of another task, in order")
  func handOver() async {
    let (stream, source) = BoundedStream.make(of: Int.self, limit: 10_000)
    let feeder = Task {
      for number in 0..<10_000 {
        source.yield(number)
        if number % 100 == 0 { await Task.yield() }
      }
      source.finish()
    }
    var expected = 0
    for await number in stream {
      #expect(number == expected)
      expected += 1
    }
    #expect(expected == 10_000)
    await feeder.value
  }

  @Test("The end is reported once, whether by the consumer, by cancellation or by the source")
  func termination() async {
    let ended = Lock(0)
    do {
      let (stream, source) = BoundedStream.make(of: Int.self, limit: 1, onTermination: { ended.withLock { $0 += 1 } })
      source.finish()
      source.finish()
      for await _ in stream {}
    }
    #expect(ended.withLock { $0 } == 1)
    let (stream, source) = BoundedStream.make(of: Int.self, limit: 1, onTermination: { ended.withLock { $0 += 1 } })
    let reader = Task { for await _ in stream {} }
    reader.cancel()
    await reader.value
    #expect(ended.withLock { $0 } == 2)
    #expect(!source.yield(1))
    do {
      let (unread, _) = BoundedStream.make(of: Int.self, limit: 1, onTermination: { ended.withLock { $0 += 1 } })
      withExtendedLifetime(unread) {}
    }
    #expect(ended.withLock { $0 } == 3)
  }

  @Test("Unread elements are released: dropped ones at once, waiting ones with the stream")
  func release() async {
    let gone = Lock(0)
    var stream: BoundedStream<Token>?
    let source: BoundedStream<Token>.Source
    (stream, source) = BoundedStream.make(of: Token.self, limit: 2)
    for _ in 0..<5 { source.yield(Token(gone)) }
    #expect(gone.withLock { $0 } == 3)
    var iterator = stream?.makeAsyncIterator()
    _ = await iterator?.next()
    #expect(gone.withLock { $0 } == 4)
    iterator = nil
    #expect(gone.withLock { $0 } == 4)
    withExtendedLifetime(stream) {}
    stream = nil
    #expect(gone.withLock { $0 } == 5)
    source.yield(Token(gone))
    #expect(gone.withLock { $0 } == 6)
  }

  @Test("A consumer on an actor does not leave the actor for elements that are there already")
  func staysOnItsActor() async {
    let (stream, source) = BoundedStream.make(of: Int.self, limit: 1000)
    for number in 0..<1000 { source.yield(number) }
    source.finish()
    let reader = Reader()
    #expect(await reader.count(stream) == 1000)
    #expect(reader.executor.jobs.withLock { $0 } < 100)
  }

  private actor Reader {
    let executor = CountingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func count(_ stream: BoundedStream<Int>) async -> Int {
      var count = 0
      for await _ in stream { count += 1 }
      return count
    }
  }

  /// Counts how often somebody comes to its actor.
  private final class CountingExecutor: SerialExecutor {
    let jobs = Lock(0)
    private let queue = DispatchQueue(label: "reader")

    func enqueue(_ job: consuming ExecutorJob) {
      jobs.withLock { $0 += 1 }
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }
}
