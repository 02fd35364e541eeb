import BackgroundTasks
import Foundation
import MessageSending
import Streams
import SystemState

/// The sending of messages inside the agent: a background task that is submitted again by each run, in every mode.
///
/// It sends at the instants of `edgeblue messages run`, and before and after a sleep of the machine does what that does
/// at its stop and start.
struct AgentMessages: Sendable {
  /// The identifier of the background task.
  static let identifier = "io.edgecoder.messages"

  let sender: MessageSender
  let counts: OutcomeCounts
  private let scheduler: BackgroundTaskScheduler

  /// Creates the task; nothing runs before ``run(following:)``.
  /// - Parameter options: The clocks of the scheduler, which are those of the sender.
  init(
    _ sender: MessageSender, counts: OutcomeCounts,
    options: BackgroundTaskScheduler.Options = BackgroundTaskScheduler.Options()
  ) throws {
    let definition = BackgroundTaskDefinition(Self.identifier, .processing) { task in
      await sender.handle(.ticked)
      try await task.submit(await Self.next(of: sender))
    }
    self.sender = sender
    self.counts = counts
    // The sender's own record says after a restart when it is due, also to other programs.
    scheduler = try BackgroundTaskScheduler([definition], store: nil, options: options)
  }

  /// The request for the next tick: when the sender says, or after a usual delay if another program is sending.
  private static func next(of sender: MessageSender) async -> BackgroundTaskRequest {
    let delay = await sender.delay ?? .zero
    let usual = RandomDelay.usual.delay(at: .random(in: 0..<1))
    return BackgroundTaskRequest(identifier, .processing, delay: delay > .zero ? delay : usual)
  }

  /// Sends until the task is cancelled; a run in progress is then cancelled, and its remainder is sent after the next
  /// start.
  func run(following phases: BoundedStream<LifecycleUpdate>) async throws {
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await scheduler.run() }
        group.addTask { try await follow(phases) }
        defer { group.cancelAll() }
        while try await group.next() != nil {}
      }
    } catch is CancellationError {
      // The agent stops.
    }
    // In a task of its own, because nothing waits in a cancelled one.
    _ = await Task { await sender.handle(.stopping) }.value
  }

  private func follow(_ phases: BoundedStream<LifecycleUpdate>) async throws {
    // Apart from the phases: what is owed takes minutes at a slow server, and sleep does not wait for it.
    var beginning = Task { try await begin() }
    var sleeps = false
    for await update in phases where (update.snapshot.phase == .suspending) != sleeps {
      sleeps.toggle()
      guard sleeps else {
        beginning = Task { try await begin() }
        continue
      }
      try await end(beginning)
      // It expires a run in progress; what is left of it is owed.
      await scheduler.update(BackgroundConditions(isInBackground: true, isGoingToSleep: true))
      await sender.handle(.stopping)
    }
    try await end(beginning)
  }

  /// Ends what ``begin()`` does; what is left of a run is owed.
  private func end(_ beginning: Task<Void, any Error>) async throws {
    beginning.cancel()
    do {
      try await beginning.value
    } catch is CancellationError {
      // It was under way.
    }
  }

  /// Does what is owed, and schedules the next tick.
  private func begin() async throws {
    await sender.handle(.started)
    try await scheduler.submit(await Self.next(of: sender))
    // Its rate depends neither on whether the machine is in use, nor on the network: an attempt without one fails.
    await scheduler.update(BackgroundConditions(isInBackground: true))
  }
}

extension AgentMessages {
  /// Creates the sender of the folder below the agent's that `edgeblue messages setup` has made.
  static func open(in state: String, _ terminal: Terminal) throws -> AgentMessages {
    try ProcessSecrets.forbidCoreDumps()
    let folder = MessagesFolder(path: state + "/messages")
    let settings = try folder.read()
    let covers = try folder.covers(settings)
    let source = VaultedQueue(try folder.queue(covers), folder.vault)
    let counts = OutcomeCounts()
    var options = MessageSender.Options()
    options.prepare = try folder.preparation(settings)
    let sender = MessageSender(
      folder: folder.path, source, covers: covers, transport: try settings.transport(), options: options
    ) { outcome in
      counts.add(outcome)
      terminal.happened("messages: \(outcome.words)", "messages", ["outcome": .string(outcome.rawValue)])
    }
    return try AgentMessages(sender, counts: counts)
  }
}
