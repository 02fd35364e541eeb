import NetworkPath
import ServiceLifecycle
import Streams
import Uploads

/// Tells a queue when there is a way out to the network again.
struct UploadWaker: Service {
  private let queue: UploadQueue

  init(_ queue: UploadQueue) { self.queue = queue }

  func run() async throws {
    let monitor = try await NetworkPathMonitor.start(.withNetworkManager)
    await cancelWhenGracefulShutdown {
      await Self.wake(queue, by: monitor.updates())
      // A queue without this still tries every 30 s.
      do { try await gracefulShutdown() } catch {}
    }
  }

  /// Does so until a monitor has ended or the task is cancelled.
  static func wake(_ queue: UploadQueue, by updates: BoundedStream<PathUpdate>) async {
    var wasThere = true
    for await update in updates {
      let isThere = update.path.status == .satisfied
      if isThere, !wasThere { await queue.networkReturned() }
      wasThere = isThere
    }
  }
}
