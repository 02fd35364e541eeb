import Foundation
import SystemTesting
import UploadsTesting

@testable import Uploads

/// Tries everything that the table of servers lists at one server.
struct ServerTrial {
  /// A row of the table.
  enum Row: String, CaseIterable {
    case whole = "an object in one request"
    case parts = "an object in parts"
    case createCondition = "`If-None-Match` on `PUT`"
    case completeCondition = "`If-None-Match` on completing parts"
    case replaceCondition = "`If-Match` on `PUT`"
    case checksum = "the SHA-256 in the response to `HEAD`"
    case corruption = "a wrong SHA-256"
    case abort = "parts that are aborted"
    case list = "a list of objects"
    case clock = "a clock that is two hours wrong"
    case secret = "a wrong secret"
    case key = "an unknown access key"
    case bucket = "an unknown bucket"
    case quota = "a quota that is used up"
  }

  private let server: TestedServer
  private let client: S3Client
  private let folder: TemporaryFolder
  private var bucket: String { server.bucket }
  private var credentials: S3Credentials { server.credentials }

  init(_ server: TestedServer) throws {
    self.server = server
    client = try server.client()
    folder = try TemporaryFolder()
  }

  /// Returns what the server does, in the words of the table.
  func results() async throws -> [Row: String] {
    var wrong = credentials
    wrong.secretKey += "x"
    let unknown = S3Credentials(accessKey: "UNKNOWN", secretKey: credentials.secretKey)
    return [
      .whole: try await upload(1000), .parts: try await upload(17 << 20), .createCondition: try await creating(.whole),
      .completeCondition: try await creating(.parts), .replaceCondition: try await replacing(),
      .checksum: try await checksum(), .corruption: try await corruption(), .abort: try await abort(),
      .list: try await list(), .clock: try await clock(), .secret: try await refusal(wrong),
      .key: try await refusal(unknown), .bucket: try await unknownBucket(), .quota: try await quota(),
    ]
  }

  private func content(_ size: Int) throws -> ObjectContent {
    try ObjectContent(readingFile: try folder.file("\(size)", size, seed: UInt64(size)))
  }

  private func upload(_ size: Int) async throws -> String {
    let content = try content(size)
    let run = try QueueRun(folder, try server.client(), ["a": StaticCredentials(credentials)])
    let ids = try await run.queue.add([UploadRequest(content, bucket: bucket, key: "trial/\(size)", account: "a")])
    try await run.untilFinished(ids)
    guard let item = try run.store.item(ids[0]), item.state == .done else { return "failed" }
    let presence = try await client.presence(
      of: content, bucket: bucket, key: "trial/\(size)", credentials: credentials)
    return presence == .same ? "stored" : "differs"
  }

  /// Creates an object under the condition, beside one of the same key and bytes.
  private func creating(_ creation: S3Client.Creation) async throws -> String {
    let client = try server.client()
    _ = try await client.probeConditions(
      with: try content(1000), bucket: bucket, key: "trial/1000", credentials: credentials)
    return client.condition(creation).rawValue
  }

  private func replacing() async throws -> String {
    let client = try server.client()
    let other = String(repeating: "0", count: 32)
    let data = Data("another version".utf8)
    _ = try await client.put(
      data, contentType: "text/plain", over: nil, bucket: bucket, key: "trial/version", credentials: credentials)
    let isReplaced = try await client.put(
      data, contentType: "text/plain", over: other, bucket: bucket, key: "trial/version", credentials: credentials)
    if !isReplaced { return "kept" }
    return client.learned.withLock { $0.refusedConditions.isEmpty } ? "ignored" : "refused"
  }

  private func checksum() async throws -> String {
    let stored = try await client.head(bucket: bucket, key: "trial/1000", credentials: credentials)
    return stored?.checksum == nil ? "none" : "returned"
  }

  /// Sends bytes with the SHA-256 of others in the header for it; the signature is that of the bytes.
  private func corruption() async throws -> String {
    let data = Data("bytes".utf8)
    let other = Data(Digests(of: Data("other bytes".utf8)).sha256).base64EncodedString()
    let request = client.endpoint.request(
      "PUT", bucket: bucket, key: "trial/wrong", headers: [("x-amz-checksum-sha256", other)], body: .bytes(data))
    do {
      let payload = Digests(of: data).sha256.hex
      _ = try await client.perform(request, bucket: bucket, payload: payload, credentials: credentials)
      return "accepted"
    } catch let error as UploadsError where error.status.map({ (400..<500).contains($0) }) == true {
      return "refused"
    }
  }

  private func abort() async throws -> String {
    let upload = try await client.createMultipart(
      try content(1000), bucket: bucket, key: "trial/aborted", credentials: credentials)
    func isListed() async throws -> Bool {
      try await client.unfinishedUploads(bucket: bucket, credentials: credentials).contains { $0.uploadID == upload.id }
    }
    let before: Bool
    do { before = try await isListed() } catch is UploadsError {
      try await client.abortMultipart(upload.id, bucket: bucket, key: "trial/aborted", credentials: credentials)
      return "removed, not listed"
    }
    try await client.abortMultipart(upload.id, bucket: bucket, key: "trial/aborted", credentials: credentials)
    return try await isListed() ? "stay" : before ? "removed" : "removed, not listed"
  }

  private func list() async throws -> String {
    let page = try await client.list(bucket: bucket, prefix: "trial/", credentials: credentials)
    return page.entries.contains { $0.key == "trial/1000" && $0.size == 1000 } ? "complete" : "incomplete"
  }

  private func clock() async throws -> String {
    let wrong = try server.client(wrongBy: 7200)
    do {
      guard try await wrong.head(bucket: bucket, key: "trial/1000", credentials: credentials) != nil else {
        return "not found"
      }
      return abs(wrong.clockSkew + 7200) < 60 ? "corrected" : "ignored"
    } catch let error as UploadsError {
      return FailureKind(error).rawValue
    }
  }

  /// Returns what an upload with these credentials waits for.
  private func refusal(_ credentials: S3Credentials) async throws -> String {
    do {
      _ = try await client.head(bucket: bucket, key: "trial/1000", credentials: credentials)
      return "accepted"
    } catch let error as UploadsError {
      return "waits for \(FailureKind(error).rawValue)"
    }
  }

  /// Ceph refuses it while the body is on its way, which may cut the connection before the response arrives.
  private func unknownBucket() async throws -> String {
    let content = try content(1000)
    while true {
      do {
        try await client.put(
          content, bucket: "unknown-bucket", key: "k", replacing: true, credentials: credentials, onProgress: { _ in })
        return "accepted"
      } catch let error as UploadsError where error.code == .interrupted {
        continue
      } catch let error as UploadsError {
        return FailureKind(error) == .final ? "failed" : "waits for \(FailureKind(error).rawValue)"
      }
    }
  }

  private func quota() async throws -> String {
    switch server.quota {
    case .untried(let cell): return cell
    case .usedUp(let makeBucket):
      let bucket = try await makeBucket()
      let content = try content(1000)
      var found: UploadsError?
      // The gateway learns of it later than the shell.
      try await eventually("the quota is used up") {
        do {
          try await client.put(
            content, bucket: bucket, key: "k", replacing: true, credentials: credentials, onProgress: { _ in })
        } catch let error as UploadsError {
          found = error
        }
        return found != nil
      }
      guard let found else { return "accepted" }
      // Its own words, and not those of a missing permission.
      if found.code == .quotaExceeded { return "waits, and says so" }
      return switch FailureKind(found) {
      case .temporary: "retried"
      case .final: "failed"
      case let kind: "waits for \(kind.rawValue)"
      }
    }
  }
}
