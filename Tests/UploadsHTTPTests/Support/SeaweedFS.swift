import Foundation
import Streams
import SystemTesting
import Timing
import UploadsHTTP
import UploadsTesting

@testable import Uploads

/// A real object store on loopback: SeaweedFS, which checks signatures, dates and checksums. All tests share one, each
/// with keys of its own; the end of the tests ends it.
struct SeaweedFS: Sendable {
  static let bucket = "recordings"
  static let writer = S3Credentials(accessKey: "WRITER", secretKey: "the writer's secret")
  static let reader = S3Credentials(accessKey: "READER", secretKey: "the reader's secret")

  static let program = peer("weed")
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: program) }

  /// Where `scripts/python-peers` puts a program.
  static func peer(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../.venv-peers/bin/\(name)").standardized.path
  }

  let port: UInt16
  /// Where its shell reaches the master and the filer.
  private let parts: [String]
  /// What to trust, where it speaks TLS.
  let certificate: String?
  private let process: ChildProcess
  private let folder: TemporaryFolder

  private static let shared = Lock<Task<SeaweedFS, any Error>?>(nil)
  /// What the end of the tests ends, and removes.
  private static let left = Lock<(process: ChildProcess, folder: String)?>(nil)

  /// The one that all tests share.
  static func running() async throws -> SeaweedFS {
    let task = shared.withLock { task in
      let running =
        task
        ?? Task.detached {
          let server = try await SeaweedFS()
          left.withLock { $0 = (server.process, server.folder.path) }
          atexit {
            guard let left = SeaweedFS.left.withLock({ $0 }) else { return }
            left.process.kill()
            do { try FileManager.default.removeItem(atPath: left.folder) } catch {
              print("\(left.folder) stays: \(error)")
            }
            SeaweedFS.removeSockets()
          }
          return server
        }
      task = running
      return running
    }
    return try await task.value
  }

  private static let usedPorts = Lock<Set<UInt16>>([])

  /// Ports that nothing listens at, for the use of SeaweedFS.
  static func freePorts(_ count: Int) throws -> [UInt16] {
    let ports = try LoopbackPort.free(count)
    usedPorts.withLock { $0.formUnion(ports) }
    return ports
  }

  /// It has sockets in /tmp beside its ports and those of its gRPC, 10,000 above, and one that is killed leaves them.
  private static func removeSockets() {
    let numbers = usedPorts.withLock { $0 }.flatMap { [Int($0), Int($0) + 10_000] }
    let endings = Set(numbers.map { "-\($0).sock" })
    do {
      for name in try FileManager.default.contentsOfDirectory(atPath: "/tmp")
      where name.hasPrefix("seaweedfs-") && endings.contains(where: name.hasSuffix) {
        try FileManager.default.removeItem(atPath: "/tmp/" + name)
      }
    } catch {
      print("sockets of SeaweedFS stay in /tmp: \(error)")
    }
  }

  /// Writes who may do what into a folder.
  /// - Returns: the file.
  static func identities(in folder: TemporaryFolder) throws -> String {
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
    let path = folder.path + "/s3.json"
    try JSONSerialization.data(withJSONObject: identities).write(to: URL(filePath: path))
    return path
  }

  /// Begins one.
  /// - Parameter isSecured: Whether the server uses TLS, with an untrusted certificate, and issues session tokens.
  init(isSecured: Bool = false) async throws {
    folder = try TemporaryFolder()
    let identities = try Self.identities(in: folder)
    var more: [String] = []
    if isSecured {
      try Data(Self.roles.utf8).write(to: URL(filePath: folder.path + "/iam.json"))
      let key = folder.path + "/key.pem"
      let certificate = folder.path + "/certificate.pem"
      let openssl = try ChildProcess(
        "openssl",
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
          "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ], errors: .discarded)
      guard await openssl.outcome().status == 0 else { throw MissingProgram("openssl") }
      more = ["-s3.iam.config=\(folder.path)/iam.json", "-s3.cert.file=\(certificate)", "-s3.key.file=\(key)"]
      self.certificate = certificate
    } else {
      certificate = nil
    }
    let ports = try Self.freePorts(5)
    port = ports[0]
    parts = ["-master=127.0.0.1:\(ports[1])", "-filer=127.0.0.1:\(ports[3])"]
    let command = UnprivilegedCommand(
      Self.program,
      [
        "mini", "-dir=\(folder.path)", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-admin.ui=false", "-webdav=false",
        "-s3.port=\(ports[0])", "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.config=\(identities)",
        "-s3.autoCreateBucket=false",
        "-master.port=\(ports[1])", "-volume.port=\(ports[2])", "-filer.port=\(ports[3])", "-admin.port=\(ports[4])",
      ] + more, writing: [folder.path])
    process = try Self.start(command, in: folder)
    let client = try client()
    // It listens before it can do anything.
    try await Self.waitUntilUp(process, in: folder) { try await Self.makeBucket(client) }
  }

  /// Makes the bucket, if there is none. SeaweedFS would make one when it starts, and once only.
  static func makeBucket(_ client: S3Client) async throws {
    do {
      _ = try await client.list(bucket: bucket, credentials: writer)
    } catch let error as UploadsError where error.code == .notFound {
      let request = client.endpoint.request("PUT", bucket: bucket)
      _ = try await client.perform(request, bucket: bucket, credentials: writer)
    }
  }

  /// Starts a server that writes its log into a folder.
  static func start(_ command: UnprivilegedCommand, in folder: TemporaryFolder) throws -> ChildProcess {
    try ChildProcess(
      "sh", ["-c", #"log=$1; shift; exec "$@" >>"$log" 2>&1"#, "sh", log(folder), command.program] + command.arguments,
      environment: ["TMPDIR": folder.path, "PATH": "/usr/bin:/bin"], output: .discarded)
  }

  private static func log(_ folder: TemporaryFolder) -> String { folder.path + "/log" }

  /// Waits until a server does something, and no longer when it has ended.
  /// - Throws: `TestTimeout` with the server's log.
  static func waitUntilUp(
    _ process: ChildProcess, in folder: TemporaryFolder, _ probe: () async throws -> Void
  ) async throws {
    var last = ""
    do {
      try await eventually("the server responds", within: .seconds(120)) {
        do {
          try await probe()
          return true
        } catch let error as UploadsError where !process.hasEnded {
          last = "\(error)"
          try await Task.sleep(for: .milliseconds(100), clock: .steady)
          return false
        }
      }
    } catch {
      process.signal(SIGKILL)
      let log = try String(contentsOfFile: log(folder), encoding: .utf8)
      throw TestTimeout("\(error); \(last)\n\(log.suffix(4000))")
    }
  }

  var address: String { (certificate == nil ? "http" : "https") + "://127.0.0.1:\(port)" }

  /// A client of it, straight or through something at another port.
  func client(through port: UInt16? = nil, stallLimit: Duration = .seconds(20)) throws -> S3Client {
    S3Client(
      try S3Endpoint(port.map { "http://127.0.0.1:\($0)" } ?? address),
      transport: try S3HTTPTransport(certificates: certificate, stallLimit: stallLimit))
  }

  /// Temporary credentials, as the server itself makes them (AssumeRole).
  func session() async throws -> S3Credentials {
    let form = Data(
      "Action=AssumeRole&Version=2011-06-15&RoleArn=\(Self.role)&RoleSessionName=test&DurationSeconds=900".utf8)
    var request = S3Request(
      "POST", scheme: "https", authority: "127.0.0.1:\(port)",
      headers: [("Content-Type", "application/x-www-form-urlencoded")])
    request.body = .bytes(form)
    RequestSigner(Self.writer, region: "us-east-1", service: "sts")
      .sign(&request, payload: Digests(of: form).sha256.hex, at: WallClock.unixMilliseconds() / 1000)
    let answer = try await S3HTTPTransport(certificates: certificate).send(request, S3Progress())
    guard let session = S3Credentials(assumed: XMLElement(answer.body)) else {
      let body = String(decoding: answer.body, as: UTF8.self)
      throw UploadsError(.unexpectedResponse, "AssumeRole was answered with \(answer.status) \(body)")
    }
    return session
  }

  private static let role = "arn:aws:iam::role/Uploader"
  /// A role that anybody who has credentials may take, and that may write.
  private static let roles = """
    {
      "sts": {"tokenDuration": "1h", "maxSessionLength": "12h", "issuer": "tests",
        "signingKey": "YSBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRoZXNlIHRlc3Rz"},
      "policy": {"defaultEffect": "Deny", "storeType": "memory"},
      "policies": [{"name": "Write", "document": {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["*"]}]}}],
      "roles": [{"roleName": "Uploader", "roleArn": "\(role)", "maxSessionDuration": 3600,
        "attachedPolicies": ["Write"], "trustPolicy": {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["sts:AssumeRole"]}]}}]
    }
    """

  /// Makes a bucket with more in it than its quota permits, and returns its name.
  func bucketOverQuota() async throws -> String {
    let bucket = "over-quota"
    let client = try client()
    let request = client.endpoint.request("PUT", bucket: bucket)
    _ = try await client.perform(request, bucket: bucket, credentials: Self.writer)
    let content = try ObjectContent(readingFile: try folder.file("quota", 2 << 20, seed: 1))
    try await client.put(
      content, bucket: bucket, key: "first", replacing: true, credentials: Self.writer, onProgress: { _ in })
    // The master learns of the size with a heartbeat.
    try await eventually("the bucket is read only") {
      try await shell(["s3.bucket.quota -name=\(bucket) -op=set -sizeMB=1", "s3.bucket.quota.enforce -apply"])
        .contains("read only")
    }
    return bucket
  }

  /// Has its shell carry out some commands, and returns what that prints.
  private func shell(_ commands: [String]) async throws -> String {
    let shell = try ChildProcess(Self.program, ["shell"] + parts, hasInput: true, output: .kept, errors: .discarded)
    try await shell.write((["lock"] + commands + ["unlock", "exit"]).map { $0 + "\n" }.joined())
    return await shell.outcome().output
  }

  /// What it has under a key.
  func bytes(of key: String) async throws -> Data {
    let data = Lock(Data())
    // Of what the server has, not of how fast it is beside everything that the machine does.
    try await client(stallLimit: .seconds(120)).get(bucket: Self.bucket, key: key, credentials: Self.writer) { bytes in
      data.withLock { $0.append(contentsOf: bytes) }
    }
    return data.withLock { $0 }
  }
}
