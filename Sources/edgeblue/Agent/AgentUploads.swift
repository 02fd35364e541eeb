import Agent
import Foundation
import Logging
import NetworkPath
import Streams
import Timing
import Uploads

/// The upload queue of the agent: uploads for as long as the agent runs, and reports its status.
struct AgentUploads: Sendable {
  private let queue: UploadQueue
  /// The folders of recordings.
  private let sources: SegmentSources
  private let metered: MeteredPolicy
  /// The reason why the queue has stopped, if it has.
  private let failure = Lock<String?>(nil)

  /// The interval at which the status is polled while it changes: 2 s.
  private static let interval = Duration.seconds(2)
  /// The longest time between two looks while it does not, and no item is added or changed: 20 s.
  private static let restingInterval = Duration.seconds(20)
  /// The delay after which a failed queue, for example after a disk error, restarts.
  private static let pause = Duration.seconds(30)

  init(_ queue: UploadQueue, _ metered: MeteredPolicy) {
    self.queue = queue
    self.metered = metered
    sources = SegmentSources(queue.store)
  }

  /// Looks at the queue now, and tries again what waits.
  func push() async { await queue.networkReturned() }

  /// The metrics of the queue.
  func metrics() async -> [Metric] { await report().metrics }

  /// Uploads until the task is cancelled. Failures are reported, and do not stop the agent.
  func run(_ path: NetworkPathMonitor, reportingTo runner: ModeRunner) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await upload() }
      group.addTask { await UploadWaker.wake(queue, by: path.updates()) }
      group.addTask { await metered.hold(queue, by: path.updates()) }
      group.addTask { await tell(runner) }
      group.addTask { await sources.run() }
    }
  }

  private func upload() async {
    while !Task.isCancelled {
      do {
        try await queue.run()
        return
      } catch is CancellationError {
        return
      } catch {
        failure.withLock { $0 = Failure(error).message }
      }
      do { try await Task.sleep(for: Self.pause, clock: .steady) } catch { return }
      failure.withLock { $0 = nil }
    }
  }

  private func report() async -> UploadReport {
    var report = await UploadReport(of: queue)
    if let problem = await problem {
      report.status.problem = problem
    } else if report.status.isHeld {
      report.status.problem = report.status.problem ?? "waits for a network that is not metered (--metered)"
    }
    return report
  }

  /// The reason why the queue has stopped, else the first problem of a folder of recordings.
  private var problem: String? {
    get async {
      if let failure = failure.withLock({ $0 }) { return failure }
      return await sources.problems.first
    }
  }

  private func tell(_ runner: ModeRunner) async {
    let changed = WakeSignal()
    changed.signal()
    await withDiscardingTaskGroup { group in
      group.addTask { for await _ in queue.updates(limit: 1) { changed.signal() } }
      group.addTask { await changed.signal(every: Self.restingInterval) }
      var seen: Seen?
      for await _ in changed.signals {
        let status = await queue.status
        // The report contains the error of a store that cannot be read.
        let now = Seen(status: status, version: try? queue.store.version(), problem: await problem)
        // Counting all items is slow, so it happens only after a change.
        let isChanged = now != seen
        if isChanged { await runner.take(await report().agentStatus) }
        seen = now
        do { try await Task.sleep(for: Self.interval, clock: .steady) } catch { break }
        if isChanged || !status.running.isEmpty { changed.signal() }
      }
      group.cancelAll()
    }
  }

  /// What the last status was made of.
  private struct Seen: Equatable {
    let status: UploadQueue.Status
    let version: Int64?
    let problem: String?
  }
}
