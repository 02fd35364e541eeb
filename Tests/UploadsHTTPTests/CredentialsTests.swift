import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import UploadsHTTP
import UploadsTesting

@testable import Uploads

@Suite(
  "Sources of credentials, at a server that checks them",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"), .timeLimit(.minutes(5)))
struct CredentialsTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A service of tokens that refuses, then gives an expired session, and then always a good one.
  private func tokenService(_ session: S3Credentials) throws -> FaultProxy {
    func reply(_ credentials: S3Credentials, _ end: String) -> FaultProxy.Fault {
      .answer(
        200,
        """
        {"access_key_id": "\(credentials.accessKey)", "secret_access_key": "\(credentials.secretKey)",
         "session_token": "\(credentials.sessionToken ?? "")", "bucket": "\(SeaweedFS.bucket)", "prefix": "session/", "region": "eu-central-1", \(end)}
        """)
    }
    var expired = session
    expired.sessionToken = session.sessionToken.map { String($0.dropLast(8)) + "AAAAAAAA" }
    let answers = Lock<[FaultProxy.Fault]>([
      .answer(401, "{}"), reply(expired, #""duration_seconds": 900"#),
      reply(session, #""expiration": "2099-01-01T00:00:00Z""#),
    ])
    // It answers by itself: nobody is behind it.
    return try FaultProxy(before: 1) { _, _ in
      answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
  }

  private func request(_ file: String, _ size: Int, key: String) throws -> UploadRequest {
    let content = try ObjectContent(readingFile: try folder.file(file, size, seed: 1))
    return UploadRequest(content, bucket: SeaweedFS.bucket, key: key, account: "a")
  }

  /// Checks that items are uploaded completely, without a failed attempt.
  private func areUploaded(_ ids: [Int64], _ run: QueueRun, to server: SeaweedFS) async throws {
    for id in ids {
      let item = try #require(try run.store.item(id))
      #expect(item.state == .done, "\(item.problem ?? "")")
      #expect(item.attempts == 0, "\(item.problem ?? "")")
      let bytes = try await server.bytes(of: item.request.key)
      #expect(try bytes == Data(contentsOf: URL(filePath: item.request.content.path)))
    }
  }

  /// Checks that the keys of a session need its token, and the server a trusted certificate.
  private func othersAreRefused(_ session: S3Credentials, by server: SeaweedFS) async throws {
    // Without the token the same keys are worth nothing.
    var keys = session
    keys.sessionToken = nil
    let bare = keys
    await #expect(throws: UploadsError.self) {
      try await server.client().head(bucket: SeaweedFS.bucket, key: "session/1000", credentials: bare)
    }
    // Who does not know the certificate does not talk to it.
    let stranger = S3Client(try S3Endpoint(server.address), transport: try S3HTTPTransport())
    let error = await #expect(throws: UploadsError.self) {
      try await stranger.head(bucket: SeaweedFS.bucket, key: "session/1000", credentials: session)
    }
    #expect(error?.code == .untrusted)
  }

  /// TLS with a certificate of one's own, and session tokens from a service that gives good ones the third time.
  @Test(
    "Expired sessions of a token service are replaced, and its scope holds",
    .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"))
  func aTokenServiceGivesSessionsThatEnd() async throws {
    let server = try await SeaweedFS(isSecured: true)
    let session = try await server.session()
    let service = try tokenService(session)
    let provider = try TokenServiceCredentials(
      url: "http://127.0.0.1:\(service.port)/action/auth/s3-upload-token/v1/", transport: try S3HTTPTransport()
    ) { "who I am" }
    var options = UploadQueue.Options()
    options.pollInterval = .seconds(1000)
    let run = try QueueRun(
      folder, try server.client(), ["a": provider], clock: TimeSource(FastClock()), options: options)
    let ids = try await run.queue.add(
      [1000, 17 << 20].map { size in try request("\(size)", size, key: "session/\(size)") })
    // Not below what the service says they are good for: it waits, and nobody asks the server.
    let outside = try await run.queue.add([try request("outside", 10, key: "elsewhere")])[0]
    let running = run.start()
    try await run.until { try $0.item(outside)?.failure == .permission }
    try await run.untilFinished(ids, running)
    let waiting = try #require(try run.store.item(outside))
    #expect(waiting.state == .waiting)
    #expect(waiting.attempts == 0)
    #expect(
      waiting.problem?.contains(
        "do not permit \(SeaweedFS.bucket)/elsewhere; allowed: \(SeaweedFS.bucket)/session/…") == true,
      "\(waiting.problem ?? "")")
    try await areUploaded(ids, run, to: server)
    #expect(service.seen.count >= 3)
    #expect(service.seen.allSatisfy { $0.method == "POST" })
    #expect(service.seen.allSatisfy { $0.authorization == "Bearer who I am" })
    try await othersAreRefused(session, by: server)
  }

  /// As systemd gives it to a service with `LoadCredential=s3:…`: a file in a folder that a variable names.
  @Test("A credential that systemd loaded is found", .enabled(if: Program.isThere, "needs the command: swift build"))
  func aCredentialOfSystemdIsFound() async throws {
    let server = try await SeaweedFS.running()
    let path = try folder.file("loaded.wav", 1000, seed: 3)
    let text =
      "aws_access_key_id = \(SeaweedFS.writer.accessKey)\naws_secret_access_key = \(SeaweedFS.writer.secretKey)\n"
    let credentials = folder.path + "/credentials"
    try FileManager.default.createDirectory(atPath: credentials, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: credentials + "/s3"))
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: credentials + "/s3")
    let program = try ChildProcess(
      Program.path,
      [
        "upload", path, "--bucket", SeaweedFS.bucket, "--prefix", "systemd/", "--endpoint", server.address, "--state",
        folder.path + "/state",
      ], environment: ["CREDENTIALS_DIRECTORY": credentials, "HOME": "/nowhere"], output: .discarded)
    #expect(await program.outcome().status == 0)
    #expect(try await server.bytes(of: "systemd/loaded.wav") == Data(contentsOf: URL(filePath: path)))
  }
}
