import Foundation
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// What is written for AWS, against a second server: buckets in host names, signatures that AWS's own library checks,
/// accounts with the policy of docs/uploads.md and nothing beyond it.
@Suite(
  "The forms of requests that AWS requires, at a second server",
  .enabled(if: Moto.isThere, "needs moto: scripts/python-peers"), .timeLimit(.minutes(5)))
struct AWSTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// The policy that the documentation gives an account.
  private static func policy() throws -> String {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/uploads.md")
      .standardized
    let text = try String(contentsOf: page, encoding: .utf8)
    let start = try #require(text.range(of: #"    {"Version": "2012-10-17""#)).lowerBound
    let end = try #require(text[start...].range(of: "\n\n")).lowerBound
    return String(text[start..<end])
  }

  private func request(
    _ key: String, _ size: Int, seed: UInt64 = 1, account: String = "ada", replacing: Bool = false
  ) throws -> UploadRequest {
    let path = try folder.file("\(size)-\(seed)", size, seed: seed)
    return UploadRequest(
      try ObjectContent(readingFile: path, metadata: ["device": "Zoë’s"]), bucket: Moto.bucket, key: key,
      account: account, isReplacing: replacing)
  }

  /// A queue that looks for new items only when it is told of them.
  private func queue(_ client: S3Client, _ accounts: [String: S3Credentials]) throws -> QueueRun {
    var options = UploadQueue.Options()
    options.pollInterval = .seconds(1000)
    let providers = accounts.mapValues { StaticCredentials($0) }
    return try QueueRun(folder, client, providers, clock: TimeSource(FastClock()), options: options)
  }

  @Test("The documented policy permits uploads and nothing else") func theDocumentedPolicyIsEnoughAndHolds()
    async throws
  {
    let aws = try await Moto(policy: try Self.policy())
    defer { aws.end() }
    let client = try aws.client()
    let run = try queue(client, ["ada": aws.ada, "session": try await aws.session()])
    var wanted = [
      try request("ada/small", 1000), try request("ada/parts", 17 << 20), try request("ada/empty", 0),
      try request("ada/a b+c&d=e'f(g)h*i!j~k/ü/日本/🎙.wav", 10), try request("ada/session", 2000, account: "session"),
    ]
    wanted[0].manifest = "ada/manifests/manifest.ndjson"
    let running = run.start()
    let ids = try await run.queue.add(wanted)
    let outside = try await run.queue.add([try request("bob/outside", 1000)])[0]
    try await run.until { store in
      try ids.allSatisfy { try store.item($0)?.state == .done } && store.item(outside)?.failure == .permission
        && store.unwrittenManifests().isEmpty
    }
    running.cancel()
    try await running.value
    for request in wanted {
      let bytes = try await client.bytes(
        bucket: Moto.bucket, key: request.key, limit: 64 << 20, credentials: aws.ada)
      #expect(try bytes == Data(contentsOf: URL(filePath: request.content.path)), "\(request.key)")
    }
    #expect(try run.store.item(outside)?.attempts == 0)
    let keys = try await client.list(bucket: Moto.bucket, credentials: aws.ada).entries.map(\.key)
    #expect(Set(keys) == Set(wanted.map(\.key) + ["ada/manifests/manifest.ndjson"]))
    // Who can only upload removes nothing.
    let error = await #expect(throws: UploadsError.self) {
      try await client.delete(bucket: Moto.bucket, key: "ada/small", credentials: aws.ada)
    }
    #expect(error?.code == .forbidden)
    #expect(error?.serverCode == "AccessDenied")
    #expect(try await client.unfinishedUploads(bucket: Moto.bucket, credentials: aws.ada).isEmpty)
  }

  @Test("Errors of AWS have the right codes") func whatAWSRefusesIsUnderstood() async throws {
    let aws = try await Moto(policy: try Self.policy())
    defer { aws.end() }
    let client = try aws.client()
    func put(_ key: String, _ size: Int, _ credentials: S3Credentials) async throws {
      try await client.put(
        try request(key, size).content, bucket: Moto.bucket, key: key, replacing: false, credentials: credentials
      ) { _ in }
    }
    try await put("ada/one", 100, aws.ada)
    let taken = await #expect(throws: UploadsError.self) { try await put("ada/one", 101, aws.ada) }
    #expect(taken?.code == .alreadyExists)
    #expect(taken?.status == 412)
    let absent = try request("ada/none", 5).content
    #expect(
      try await client.presence(of: absent, bucket: Moto.bucket, key: "ada/none", credentials: aws.ada) == .absent)

    var wrong = aws.ada
    wrong.secretKey += "x"
    let signature = await #expect(throws: UploadsError.self) { try await put("ada/two", 100, wrong) }
    #expect(signature?.code == .badCredentials)
    #expect(signature?.serverCode == "SignatureDoesNotMatch")
    wrong.accessKey = "AKIAIOSFODNN7EXAMPLE"
    let unknown = await #expect(throws: UploadsError.self) { try await put("ada/two", 100, wrong) }
    #expect(unknown?.code == .badCredentials)
    #expect(unknown?.serverCode == "InvalidAccessKeyId")
    var session = try await aws.session()
    session.sessionToken = "none of theirs"
    let token = await #expect(throws: UploadsError.self) { try await put("ada/two", 100, session) }
    #expect(token?.code == .badCredentials)
    #expect(token?.serverCode == "InvalidToken")
  }

  @Test("An unfinished multipart upload is found and aborted") func unfinishedUploadsAreAborted() async throws {
    let aws = try await Moto(policy: try Self.policy())
    defer { aws.end() }
    let client = try aws.client()
    let content = try request("ada/parts", 17 << 20).content
    let upload = try await client.createMultipart(content, bucket: Moto.bucket, key: "ada/parts", credentials: aws.ada)
    let found = try await client.unfinishedUploads(bucket: Moto.bucket, credentials: aws.ada)
    #expect(found.map(\.uploadID) == [upload.id])
    #expect(found.map(\.key) == ["ada/parts"])
    try await client.abortMultipart(upload.id, bucket: Moto.bucket, key: "ada/parts", credentials: aws.ada)
    #expect(try await client.unfinishedUploads(bucket: Moto.bucket, credentials: aws.ada).isEmpty)
  }
}
