import Foundation
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// What a server must show before the local file is removed, at servers that show this or that, or have other bytes.
@Suite("What proves that the server has the bytes", .serialized, .timeLimit(.minutes(5))) struct ProofTests {
  /// A server whose responses a test changes, and that may lose bytes.
  final class ChangedServer: S3Transport {
    let memory = MemoryServer()
    private let answer: Answer

    init(_ answer: Answer) {
      self.answer = answer
      guard answer.isDamaged else { return }
      memory.afterwards { [weak memory] request in
        let isCreation = request.method == "PUT" && request.query.isEmpty || request.method == "POST"
        guard let memory, isCreation, let bytes = memory.object("bucket/key") else { return }
        memory.put([UInt8](repeating: 0, count: bytes.count), as: "bucket/key")
      }
    }

    func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
      var response = try await memory.send(request, progress)
      answer.change(&response, request.method)
      return response
    }
  }

  /// What a server shows, and whether that is enough.
  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let size: Int
    let isDamaged: Bool
    let change: @Sendable (inout S3Response, _ method: String) -> Void

    init(
      _ name: String, size: Int = 1000, isDamaged: Bool = false,
      _ change: @escaping @Sendable (inout S3Response, _ method: String) -> Void = { _, _ in }
    ) {
      testDescription = name
      self.size = size
      self.isDamaged = isDamaged
      self.change = change
    }

    /// The same server, which has other bytes of the same length.
    var damaged: Answer {
      Answer("\(testDescription), and other bytes of the same length", size: size, isDamaged: true, change)
    }
  }

  private static let sum = Data(Digests(of: content(1000)).sha256).base64EncodedString()
  private static let otherSum = Data(Digests(of: Data("other".utf8)).sha256).base64EncodedString()
  private static let otherMD5 = "\"\(Digests.md5(of: Array("other".utf8)).hex)\""

  private static func content(_ size: Int) -> Data {
    let block = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    var data = Data(capacity: size + block.count)
    while data.count < size { data += block }
    return data.prefix(size)
  }

  /// No MD5, as of servers that count versions.
  private static let opaque = Answer("an ETag that is no MD5") { response, _ in
    if response.headers["etag"] != nil { response.headers["etag"] = "\"version-1\"" }
  }
  /// Encrypted objects have ETags that are no MD5, and look like one.
  private static let encrypted = Answer("encryption by a key of the server") { response, _ in
    response.headers["x-amz-server-side-encryption"] = "aws:kms"
    if response.headers["etag"] != nil { response.headers["etag"] = otherMD5 }
  }
  /// The ETags of parts say nothing of their bytes, and that of the object only which parts it has.
  private static let opaqueParts = Answer("parts whose ETags are no MD5", size: 17 << 20) { response, method in
    let tag = [UInt8](repeating: 0xab, count: 8)
    if method == "PUT" { response.headers["etag"] = tag.hex }
    guard method == "POST", String(decoding: response.body, as: UTF8.self).contains("CompleteMultipart") else { return }
    let count = UploadPlan().parts(of: 17 << 20).count
    let etag = Digests.md5(of: (0..<count).flatMap { _ in tag }).hex + "-\(count)"
    response.body = Data("<CompleteMultipartUploadResult><ETag>\(etag)</ETag></CompleteMultipartUploadResult>".utf8)
  }
  private static let encryptedParts = Answer("encrypted parts", size: 17 << 20) { response, method in
    if method == "PUT" { response.headers["x-amz-server-side-encryption"] = "aws:kms" }
  }

  private static let proofs = [
    Answer("the MD5 as the ETag"), Answer("the MD5 of the parts as the ETag", size: 17 << 20), opaque, encrypted,
    opaqueParts, encryptedParts,
    Answer("the SHA-256, and no MD5") { response, _ in
      if response.headers["etag"] != nil { response.headers["etag"] = "\"version-1\"" }
      response.headers["x-amz-checksum-sha256"] = sum
    },
  ]

  private static let others = [
    opaque.damaged, encrypted.damaged, opaqueParts.damaged, encryptedParts.damaged,
    Answer("the MD5 of other bytes") { response, _ in response.headers["etag"] = otherMD5 },
    Answer("no ETag") { response, _ in response.headers["etag"] = nil },
    Answer("the SHA-256 of other bytes beside the right MD5") { response, _ in
      response.headers["x-amz-checksum-sha256"] = otherSum
    },
  ]

  /// What another upload of this file, or the server itself, has spoiled since.
  private static let spoiled = Answer("the MD5 of the parts, and then other bytes", size: 17 << 20, isDamaged: true) {
    response, method in
    guard method == "HEAD", response.status == 200 else { return }
    response.headers["x-amz-meta-\(ObjectContent.checksumName)"] = longSum
  }
  private static let longSum = Digests(of: content(17 << 20)).sha256.hex

  /// Uploads a file that is to be removed, until the item is done or an attempt has failed.
  /// - Returns: The item, and whether the file is still there.
  private func upload(
    _ answer: Answer, replacing: Bool = false, over other: [UInt8]? = nil
  ) async throws -> (item: UploadItem, isThere: Bool) {
    let folder = try TemporaryFolder()
    let path = folder.path + "/file"
    try Self.content(answer.size).write(to: URL(filePath: path))
    let server = ChangedServer(answer)
    if let other { server.memory.put(other, as: "bucket/key") }
    let client = S3Client(try S3Endpoint("http://host"), transport: server)
    let run = try QueueRun(
      folder, client, ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(FastClock()))
    let request = UploadRequest(
      try ObjectContent(readingFile: path), bucket: "bucket", key: "key", account: "a", isReplacing: replacing,
      afterwards: .remove)
    let id = try await run.queue.add([request])[0]
    let running = run.start()
    try await run.until { store in
      guard let item = try store.item(id) else { return false }
      return item.state == .done || item.attempts > 0
    }
    running.cancel()
    try await running.value
    return (try #require(try run.store.item(id)), FileManager.default.fileExists(atPath: path))
  }

  @Test("A file is removed once its server has shown the same bytes", arguments: proofs, [false, true])
  func proofsRemoveTheFile(answer: Answer, replacing: Bool) async throws {
    let (item, isThere) = try await upload(answer, replacing: replacing)
    #expect(item.state == .done, "\(item.problem ?? "")")
    #expect(!isThere)
  }

  @Test("A file stays while its server has shown anything less", arguments: others, [false, true])
  func lessKeepsTheFile(answer: Answer, replacing: Bool) async throws {
    let (item, isThere) = try await upload(answer, replacing: replacing)
    #expect(item.state != .done)
    #expect(item.problem != nil)
    #expect(isThere)
  }

  @Test("An object of the same length that was there before is no proof")
  func anObjectOfTheSameLengthIsNoProof() async throws {
    let (item, isThere) = try await upload(Self.opaque, over: [UInt8](repeating: 0, count: Self.opaque.size))
    #expect(item.state == .failed)
    #expect(isThere)
  }

  @Test("An upload whose object is found to have other bytes is not called done")
  func whatWasSpoiledIsNotClaimed() async throws {
    let (item, isThere) = try await upload(Self.spoiled)
    #expect(item.state != .done)
    #expect(isThere)
  }
}
