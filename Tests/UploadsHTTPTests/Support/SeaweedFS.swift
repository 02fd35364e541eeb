import DBus
import DBusTesting
import Foundation
import Uploads
import UploadsHTTP

@testable import UploadsTests

/// A real object store on loopback: SeaweedFS, which checks signatures, dates and checksums. All tests share one, each
/// with keys of its own; the end of the tests ends it.
struct SeaweedFS: Sendable {
  static let bucket = "recordings"
  static let writer = S3Credentials(accessKey: "WRITER", secretKey: "the writer's secret")
  static let reader = S3Credentials(accessKey: "READER", secretKey: "the reader's secret")

  static let program = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../.venv-peers/bin/weed").standardized.path
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: program) }

  let port: UInt16
  private let process: ChildProcess
  private let folder: TemporaryFolder

  private static let shared = Lock<Task<SeaweedFS, any Error>?>(nil)
  /// What the end of the tests ends, and removes.
  private static let left = Lock<(process: ChildProcess, folder: String)?>(nil)

  /// The one that all tests share.
  static func running() async throws -> SeaweedFS {
    let task = shared.withLock { task in
      let running = task ?? Task.detached { try await SeaweedFS() }
      task = running
      return running
    }
    return try await task.value
  }

  private init() async throws {
    folder = try TemporaryFolder()
    func identity(_ name: String, _ credentials: S3Credentials, _ actions: [String]) -> [String: Any] {
      [
        "name": name, "actions": actions,
        "credentials": [["accessKey": credentials.accessKey, "secretKey": credentials.secretKey]],
      ]
    }
    let identities: [String: Any] = [
      "identities": [
        identity("writer", Self.writer, ["Admin", "Read", "Write", "List"]),
        identity("reader", Self.reader, ["Read", "List"]),
      ]
    ]
    try JSONSerialization.data(withJSONObject: identities).write(to: URL(filePath: folder.path + "/s3.json"))
    let ports = try LoopbackPort.free(4)
    port = ports[0]
    process = try ChildProcess(
      Self.program,
      [
        "mini", "-dir=\(folder.path)", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-admin.ui=false", "-webdav=false",
        "-s3.port=\(ports[0])", "-s3.port.iceberg=0", "-s3.config=\(folder.path)/s3.json", "-s3.autoCreateBucket=false",
        "-master.port=\(ports[1])", "-volume.port=\(ports[2])", "-filer.port=\(ports[3])", "-bucket=\(Self.bucket)",
      ], output: .discarded, errors: .discarded)
    Self.left.withLock { [process, folder] in $0 = (process, folder.path) }
    atexit {
      guard let left = SeaweedFS.left.withLock({ $0 }) else { return }
      left.process.kill()
      do { try FileManager.default.removeItem(atPath: left.folder) } catch { print("\(left.folder) stays: \(error)") }
    }
    // It listens before it can do anything.
    while true {
      do {
        _ = try await client().list(bucket: Self.bucket, credentials: Self.writer)
        return
      } catch is UploadsError {
        try await Task.sleep(for: .milliseconds(100), clock: .steady)
      }
    }
  }

  /// A client of it, straight or through something at another port.
  func client(through port: UInt16? = nil, stallLimit: Duration = .seconds(20)) throws -> S3Client {
    S3Client(
      try S3Endpoint("http://127.0.0.1:\(port ?? self.port)"), transport: try S3HTTPTransport(stallLimit: stallLimit))
  }

  /// What it has under a key.
  func bytes(of key: String) async throws -> Data {
    let data = Lock(Data())
    try await client().get(bucket: Self.bucket, key: key, credentials: Self.writer) { bytes in
      data.withLock { $0.append(contentsOf: bytes) }
    }
    return data.withLock { $0 }
  }
}

/// Ports of 127.0.0.1 where nobody listens, nor at the ports 10,000 higher, which SeaweedFS takes too.
enum LoopbackPort {
  static func free(_ count: Int) throws -> [UInt16] {
    var ports: [UInt16] = []
    while ports.count < count {
      let port = UInt16.random(in: 20_000..<32_000)
      if !ports.contains(port), canBind(port), canBind(port + 10_000) { ports.append(port) }
    }
    return ports
  }

  private static func canBind(_ port: UInt16) -> Bool {
    let descriptor = Socket.make()
    defer { close(descriptor) }
    return Socket.withAddress(port) { bind(descriptor, $0, $1) } == 0
  }
}

/// Sockets of 127.0.0.1.
enum Socket {
  static func make() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0) }

  static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}
