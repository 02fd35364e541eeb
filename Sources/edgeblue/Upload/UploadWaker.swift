import NetworkPath
import ServiceLifecycle
import Streams
import Uploads

/// Wakes a queue when the default route returns, and holds it while the network is to be spared.
struct UploadWaker: Service {
  private let queue: UploadQueue

  private let metered: MeteredPolicy

  init(_ queue: UploadQueue, _ metered: MeteredPolicy) {
    self.queue = queue
    self.metered = metered
  }

  func run() async throws {
    let monitor = try await NetworkPathMonitor.start(.withNetworkManager)
    await cancelWhenGracefulShutdown {
      async let holding: Void = metered.hold(queue, by: monitor.updates())
      await Self.wake(queue, by: monitor.updates())
      await holding
      // Without a monitor, the queue still retries every 30 s.
      do { try await gracefulShutdown() } catch {}
    }
  }

  /// Wakes the queue until the updates end or the task is cancelled.
  static func wake(_ queue: UploadQueue, by updates: BoundedStream<PathUpdate>) async {
    var wasThere = true
    for await update in updates {
      let isThere = update.path.status == .satisfied
      if isThere, !wasThere { await queue.networkReturned() }
      wasThere = isThere
    }
  }
}
