import ArgumentParser
import NetworkPath
import Streams
import Timing
import Uploads

/// The use of a network whose traffic may cost money.
enum MeteredPolicy: String, ExpressibleByArgument, CaseIterable {
  /// Nothing is sent that can wait.
  case pause
  /// As little is sent as possible.
  case spare
  /// The cost is ignored.
  case ignore

  /// The time after which the oldest item is uploaded with `spare`, whatever it costs: a day.
  static let longestWait: Duration = .seconds(86_400)
  /// The interval at which the age of the oldest item is looked at.
  private static let interval: Duration = .seconds(60)

  /// Returns `true` if the queue waits on a network.
  /// - Parameters:
  ///   - isMetered: Whether its traffic may cost money.
  ///   - age: The age of the oldest item that is not uploaded.
  func holds(isMetered: Bool, age: Duration) -> Bool {
    switch self {
    case .pause: isMetered
    case .spare: isMetered && age < Self.longestWait
    case .ignore: false
    }
  }

  /// Holds a queue while the network is to be spared, until the updates end or the task is cancelled.
  func hold(_ queue: UploadQueue, by updates: BoundedStream<PathUpdate>) async {
    guard self != .ignore else { return }
    await withTaskGroup(of: Void.self) { group in
      let isMetered = Lock(false)
      group.addTask {
        for await update in updates {
          isMetered.withLock { $0 = update.path.isExpensive }
          await hold(queue, isMetered: update.path.isExpensive)
        }
      }
      group.addTask {
        while !Task.isCancelled {
          do { try await Task.sleep(for: Self.interval, clock: .steady) } catch { return }
          await hold(queue, isMetered: isMetered.withLock { $0 })
        }
      }
      await group.next()
      group.cancelAll()
    }
  }

  private func hold(_ queue: UploadQueue, isMetered: Bool) async {
    let report = await UploadReport(of: queue)
    let age = report.totals.oldestQueuedAtMs.map { Duration.milliseconds(max(report.atMs - $0, 0)) } ?? .zero
    await queue.hold(holds(isMetered: isMetered, age: age))
  }
}
