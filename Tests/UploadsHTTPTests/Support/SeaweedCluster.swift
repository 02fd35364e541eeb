import Foundation
import Streams
import SystemTesting
import UploadsHTTP
import UploadsTesting

@testable import Uploads

/// SeaweedFS on two nodes, each with a copy of everything. The first one also has what there is once: the master, the
/// filer and the S3 gateway.
final class SeaweedCluster: Sendable {
  let port: UInt16
  private let folder: TemporaryFolder
  private let ports: [UInt16]
  private let first: [ChildProcess]
  private let second = Lock<ChildProcess?>(nil)

  /// Starts both nodes and makes a bucket.
  init() async throws {
    let folder = try TemporaryFolder()
    let ports = try SeaweedFS.freePorts(5)
    self.folder = folder
    self.ports = ports
    port = ports[4]
    let identities = try SeaweedFS.identities(in: folder)
    for name in ["master", "one", "two", "filer"] {
      try FileManager.default.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
    }
    first = [
      try Self.weed(
        [
          "master", "-port=\(ports[0])", "-mdir=\(folder.path)/master", "-peers=none", "-defaultReplication=001",
          "-volumeSizeLimitMB=64",
        ], in: folder),
      try Self.volume("one", ports[1], ports[0], folder),
      try Self.weed(
        [
          "filer", "-port=\(ports[3])", "-master=127.0.0.1:\(ports[0])", "-defaultStoreDir=\(folder.path)/filer",
          "-defaultReplicaPlacement=001", "-s3", "-s3.port=\(ports[4])", "-s3.config=\(identities)",
          "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.localSocket=\(folder.path)/s3.sock",
        ], in: folder),
    ]
    try startSecond()
    let client = try client()
    // It is up when something can be written, which needs both nodes.
    let path = try folder.file("probe", 10, seed: 1)
    try await SeaweedFS.waitUntilUp(first[2], in: folder) {
      try await SeaweedFS.makeBucket(client)
      try await client.put(
        try ObjectContent(readingFile: path), bucket: SeaweedFS.bucket, key: "probe", replacing: true,
        credentials: SeaweedFS.writer, onProgress: { _ in })
    }
  }

  func client() throws -> S3Client {
    S3Client(try S3Endpoint("http://127.0.0.1:\(port)"), transport: try S3HTTPTransport(stallLimit: .seconds(5)))
  }

  /// The second node is gone, in the middle of whatever it does.
  func killSecond() { second.withLock { $0 }?.kill() }

  /// It comes back, with what its disk had.
  func startSecond() throws {
    let process = try Self.volume("two", ports[2], ports[0], folder)
    second.withLock { $0 = process }
  }

  private static func volume(
    _ name: String, _ port: UInt16, _ master: UInt16, _ folder: TemporaryFolder
  ) throws -> ChildProcess {
    try weed(
      [
        "volume", "-port=\(port)", "-dir=\(folder.path)/\(name)", "-max=20", "-master=127.0.0.1:\(master)",
      ], in: folder)
  }

  private static func weed(_ words: [String], in folder: TemporaryFolder) throws -> ChildProcess {
    let command = UnprivilegedCommand(
      SeaweedFS.program, words + ["-ip=127.0.0.1", "-ip.bind=127.0.0.1"], writing: [folder.path])
    return try SeaweedFS.start(command, in: folder)
  }
}
