import NetworkPath
import ServiceLifecycle
import Uploads

/// Tells a queue when there is a way out to the network again.
struct UploadWaker: Service {
  private let queue: UploadQueue

  init(_ queue: UploadQueue) { self.queue = queue }

  func run() async throws {
    let monitor = try await NetworkPathMonitor.start(NetworkPathMonitor.Options())
    await cancelWhenGracefulShutdown {
      var wasThere = true
      for await update in monitor.updates() {
        let isThere = update.path.status == .satisfied
        if isThere, !wasThere { await queue.networkReturned() }
        wasThere = isThere
      }
      // A queue without this still tries every 30 s.
      do { try await gracefulShutdown() } catch {}
    }
  }
}
