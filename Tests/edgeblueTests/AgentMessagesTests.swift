import BackgroundTasks
import DeterministicTesting
import Foundation
import Logging
import MessageSending
import Streams
import SystemState
import SystemTesting
import Testing
import Timing

@testable import edgeblue

/// The sending of messages as a background task of the agent, on a clock that the test moves.
@Suite("Messages of the agent", .timeLimit(.minutes(5))) struct AgentMessagesTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-agent-\(UUID().uuidString.prefix(8))"
  private let clock = ManualClock()
  private let server = Server()

  /// A server that keeps the instants at which it receives messages.
  private final class Server: MessageTransport {
    let count = Lock(0)
    let isHeld = Lock(false)

    func send(_ message: SealedMessage) async throws {
      while isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1), clock: .steady) }
      count.withLock { $0 += 1 }
    }
  }

  private struct Covers: CoverSource {
    func cover() throws(MessageSendingError) -> SealedMessage {
      var random = SystemRandomNumberGenerator()
      return try SealedMessage(bytes: (0..<SealedMessage.byteCount).map { _ in .random(in: 0...255, using: &random) })
    }
  }

  private func messages() throws -> AgentMessages {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let queue = try SendingQueue.open(path: folder + "/queue", covers: Covers()) { Issue.record("\($0)") }
    let counts = OutcomeCounts()
    var options = MessageSender.Options()
    options.clock = SendingClock(
      time: TimeSource(clock),
      wall: { [clock] in 1_790_000_000_000 + clock.now.offset.milliseconds(rounded: .towardZero) }, random: { 0.5 })
    options.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let sender = MessageSender(folder: folder, queue, covers: Covers(), transport: server, options: options) {
      counts.add($0)
    }
    var settings = BackgroundTaskScheduler.Options()
    settings.time = TimeSource(clock)
    settings.logger = options.logger
    return try AgentMessages(sender, counts: counts, options: settings)
  }

  private func ticks(_ messages: AgentMessages, _ outcome: SendingOutcome) -> Double {
    let label = ["outcome": outcome.rawValue]
    return messages.counts.metrics[0].samples.first { $0.labels == label }?.value ?? 0
  }

  @Test("It sends two messages at the instants of the schedule, in the foreground too, and ends with the agent")
  func theSchedule() async throws {
    let messages = try messages()
    let (phases, source) = BoundedStream.make(of: LifecycleUpdate.self, limit: 8)
    source.yield(LifecycleUpdate(number: 1, snapshot: LifecycleSnapshot(phase: .foreground, reason: .headless)))
    let running = Task { try await messages.run(following: phases) }
    // The failsafe after 1015 s, then a tick every 415 s: the second run is the first tick after an hour.
    await clock.advance(toSleeperAt: .seconds(1015))
    for tick in 1...9 { await clock.advance(toSleeperAt: .seconds(1015 + 415 * tick)) }
    try await eventually { ticks(messages, .done) == 2 }
    #expect(ticks(messages, .skipped) == 8)
    #expect(server.count.withLock { $0 } == 4)
    running.cancel()
    try await running.value
    #expect(try SendingRecord.read(folder: folder)?.isPending == true)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("Sleep ends what is made up for at the start, without waiting for the server")
  func sleepAfterAStart() async throws {
    let messages = try messages()
    await messages.sender.handle(.stopping)
    server.isHeld.withLock { $0 = true }
    let (phases, source) = BoundedStream.make(of: LifecycleUpdate.self, limit: 8)
    let running = Task { try await messages.run(following: phases) }
    try await eventually { try SendingRecord.read(folder: folder)?.remaining == 2 }
    source.yield(LifecycleUpdate(number: 1, snapshot: LifecycleSnapshot(phase: .suspending, reason: .headless)))
    try await eventually { ticks(messages, .cancelled) == 1 }
    running.cancel()
    try await running.value
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("A sender alone stops before a sleep and starts after it, and makes up for the run that it interrupted")
  func sleepOfASender() async throws {
    let messages = try messages()
    await messages.sender.handle(.stopping)
    server.isHeld.withLock { $0 = true }
    let (phases, source) = BoundedStream.make(of: LifecycleUpdate.self, limit: 8)
    var options = BackgroundActivity.Options()
    options.bus = nil
    let activity = BackgroundActivity(options)
    let running = Task { await messages.sender.run(following: phases, delayingSleep: activity) }
    source.yield(LifecycleUpdate(number: 1, snapshot: LifecycleSnapshot(phase: .background, reason: .headless)))
    try await eventually { try SendingRecord.read(folder: folder)?.remaining == 2 }
    #expect(activity.state == .waiting)
    source.yield(LifecycleUpdate(number: 2, snapshot: LifecycleSnapshot(phase: .suspending, reason: .headless)))
    try await eventually { activity.state == .released }
    #expect(ticks(messages, .cancelled) == 1)
    server.isHeld.withLock { $0 = false }
    source.yield(LifecycleUpdate(number: 3, snapshot: LifecycleSnapshot(phase: .background, reason: .headless)))
    try await eventually { ticks(messages, .done) == 1 }
    running.cancel()
    await running.value
    #expect(server.count.withLock { $0 } == 2)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("Sleep interrupts a run, and the run that is owed is made up at the next start") func sleep() async throws {
    let messages = try messages()
    server.isHeld.withLock { $0 = true }
    let (phases, source) = BoundedStream.make(of: LifecycleUpdate.self, limit: 8)
    let running = Task { try await messages.run(following: phases) }
    await clock.advance(toSleeperAt: .seconds(1015))
    try await eventually { try SendingRecord.read(folder: folder)?.remaining == 2 }
    source.yield(LifecycleUpdate(number: 1, snapshot: LifecycleSnapshot(phase: .suspending, reason: .headless)))
    try await eventually { ticks(messages, .cancelled) == 1 }
    server.isHeld.withLock { $0 = false }
    source.yield(LifecycleUpdate(number: 2, snapshot: LifecycleSnapshot(phase: .background, reason: .headless)))
    try await eventually { ticks(messages, .done) == 1 }
    #expect(server.count.withLock { $0 } == 2)
    running.cancel()
    try await running.value
    try FileManager.default.removeItem(atPath: folder)
  }
}
