import Foundation
import SystemTesting
import Testing
import UploadsHTTP
import UploadsTesting

@testable import Uploads

/// A server that ignores `If-None-Match` on `PUT`, and whose XML has roots of other names: `rclone serve s3`.
@Suite(
  "rclone serve s3", .enabled(if: Rclone.isThere, "needs rclone: scripts/python-peers"), .timeLimit(.minutes(5)))
struct RcloneTests {
  private let folder: TemporaryFolder
  private let server: Rclone

  init() async throws {
    folder = try TemporaryFolder()
    server = try await Rclone(folder.path + "/served")
  }

  private func upload(
    _ key: String, _ size: Int, seed: UInt64, as credentials: S3Credentials = Rclone.credentials,
    until isOver: (UploadItem?) -> Bool = { [.done, .failed].contains($0?.state) }
  ) async throws -> UploadItem {
    let run = try QueueRun(folder, server.client(), ["a": StaticCredentials(credentials)])
    let content = try ObjectContent(readingFile: try folder.file("f\(seed)", size, seed: seed))
    let id = try await run.queue.add([UploadRequest(content, bucket: "bucket", key: key, account: "a")])[0]
    let running = run.start()
    try await run.until { isOver(try $0.item(id)) }
    running.cancel()
    try await running.value
    let item = try #require(try run.store.item(id))
    if item.state == .done {
      #expect(try run.store.servers().map(\.condition) == [size < 1 << 20 ? .ignored : .unknown])
    }
    return item
  }

  @Test("Objects arrive whole, in one request and in parts", arguments: [1000, 20 << 20])
  func objectsArrive(_ size: Int) async throws {
    let item = try await upload("new", size, seed: 1)
    #expect(item.state == .done, "\(item.problem ?? "")")
    let stored = try Data(contentsOf: URL(filePath: server.path + "/bucket/new"))
    #expect(stored == (try Data(contentsOf: URL(filePath: item.request.content.path))))
  }

  @Test("Another object is not replaced", arguments: [1000, 20 << 20]) func anotherObjectStays(_ size: Int) async throws
  {
    // Through the server, which looks at its folder only now and then.
    let theirs = Data("somebody's".utf8)
    let isPut = try await server.client().put(
      theirs, contentType: "text/plain", over: nil, bucket: "bucket", key: "taken", credentials: Rclone.credentials)
    #expect(isPut)
    let item = try await upload("taken", size, seed: 2)
    #expect(item.state == .failed)
    let stored = try await server.client().bytes(bucket: "bucket", key: "taken", credentials: Rclone.credentials)
    #expect(stored == theirs)
  }

  @Test("A wrong secret is no missing permission") func aWrongSecretIsOne() async throws {
    let wrong = S3Credentials(accessKey: Rclone.credentials.accessKey, secretKey: "not the secret")
    let item = try await upload("wrong", 1000, seed: 3, as: wrong) { $0?.failure != nil }
    #expect(item.failure == .credentials, "\(item.problem ?? "")")
  }
}

/// `rclone serve s3` over a folder, for one test.
final class Rclone: Sendable {
  static let credentials = S3Credentials(accessKey: "RCLONE", secretKey: "the secret of rclone")
  private static let program = SeaweedFS.peer("rclone")
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: program) }

  /// The folder, with a folder for each bucket in it.
  let path: String
  private let port: UInt16
  private let process: ChildProcess

  init(_ path: String) async throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path + "/bucket", withIntermediateDirectories: true)
    port = try LoopbackPort.free(1)[0]
    let command = UnprivilegedCommand(
      Self.program,
      [
        "serve", "s3", "--addr", "127.0.0.1:\(port)", "--auth-key",
        "\(Self.credentials.accessKey),\(Self.credentials.secretKey)", "--config", path + "-no-configuration", path,
      ], writing: [path])
    process = try ChildProcess(
      command.program, command.arguments, environment: ["HOME": path], output: .discarded, errors: .discarded)
    let client = try client()
    try await eventually("rclone responds") {
      do {
        _ = try await client.list(bucket: "bucket", credentials: Self.credentials)
        return true
      } catch let error as UploadsError where error.code == .unreachable {
        return false
      }
    }
  }

  deinit { process.kill() }

  func client() throws -> S3Client {
    S3Client(try S3Endpoint("http://127.0.0.1:\(port)"), transport: try S3HTTPTransport())
  }
}
