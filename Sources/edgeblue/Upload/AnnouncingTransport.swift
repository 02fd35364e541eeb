import DurableFiles
import Foundation
import Streams
import Uploads

/// A transport that announces to speed tests that it sends much, for as long as it does (`NetworkUse`).
final class AnnouncingTransport: S3Transport {
  private struct Use {
    var requests = 0
    var lock: FileLock?
  }

  private let transport: any S3Transport
  private let folder: String?
  private let use = Lock(Use())

  /// The smallest body in bytes that counts: others are over before a test would notice.
  static let smallest: Int64 = 64 << 10

  init(_ transport: any S3Transport, folder: String? = NetworkUse.folder) {
    self.transport = transport
    self.folder = folder
  }

  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
    guard request.body.length >= Self.smallest else { return try await transport.send(request, progress) }
    use.withLock { use in
      use.requests += 1
      if use.lock == nil { use.lock = NetworkUse.announce(Self.name, in: folder) }
    }
    defer {
      use.withLock { use in
        use.requests -= 1
        if use.requests == 0 {
          use.lock?.release()
          use.lock = nil
        }
      }
    }
    return try await transport.send(request, progress)
  }

  /// The name of the command: `upload`, `uploads`, `record` or `agent`.
  private static let name: String = {
    let command = ProcessInfo.processInfo.arguments.dropFirst().first { !$0.isEmpty && $0.allSatisfy(\.isLetter) }
    return command ?? "edgeblue"
  }()
}
