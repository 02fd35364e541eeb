import Agent
import Foundation
import Logging
import NetworkPath
import Streams
import Timing
import Uploads

/// The queue of uploads as a part of the agent: it uploads for as long as the agent runs, and says how it goes.
struct AgentUploads: Sendable {
  private let queue: UploadQueue
  /// Why nothing is uploaded, although the queue was asked to.
  private let failure = Lock<String?>(nil)

  /// How often it is looked whether something has changed.
  private static let interval = Duration.seconds(2)
  /// How long after a failure, such as of the disk, it is begun again.
  private static let pause = Duration.seconds(30)

  init(_ queue: UploadQueue) { self.queue = queue }

  /// What can be followed over time.
  func metrics() async -> [Metric] { await report().metrics }

  /// Works until the task is cancelled. The agent's work does not depend on it: what fails is told.
  func run(_ paths: BoundedStream<PathUpdate>, reportingTo runner: ModeRunner) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await upload() }
      group.addTask { await UploadWaker.wake(queue, by: paths) }
      group.addTask { await tell(runner) }
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
    if let failure = failure.withLock({ $0 }) { report.status.problem = failure }
    return report
  }

  /// Counting all items takes a moment: it is done when something has changed.
  private func tell(_ runner: ModeRunner) async {
    var seen: (status: UploadQueue.Status, version: Int64?, failure: String?)?
    while !Task.isCancelled {
      let status = await queue.status
      // A store that cannot be read says so in the report.
      let version = try? queue.store.version()
      let failure = failure.withLock { $0 }
      if seen?.status != status || seen?.version != version || seen?.failure != failure || seen == nil {
        seen = (status, version, failure)
        await runner.take(await report().agentStatus)
      }
      do { try await Task.sleep(for: Self.interval, clock: .steady) } catch { return }
    }
  }
}
