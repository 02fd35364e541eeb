import NetworkPath
import ServiceLifecycle
import Streams
import Uploads

/// Wakes a queue when the default route returns.
struct UploadWaker: Service {
  private let queue: UploadQueue

  init(_ queue: UploadQueue) { self.queue = queue }

  func run() async throws {
    let monitor = try await NetworkPathMonitor.start(.withNetworkManager)
    await cancelWhenGracefulShutdown {
      await Self.wake(queue, by: monitor.updates())
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
