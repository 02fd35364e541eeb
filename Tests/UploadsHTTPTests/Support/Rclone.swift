import Foundation
import SystemTesting
import Timing
import UploadsHTTP
import UploadsTesting

@testable import Uploads

/// `rclone serve s3` over a folder, for one test.
final class Rclone: Sendable {
  static let credentials = S3Credentials(accessKey: "RCLONE", secretKey: "the secret of rclone")
  private static let program = SeaweedFS.peer("rclone")
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: program) }

  /// The folder, with a folder for each bucket in it.
  let path: String
  private let folder: TemporaryFolder
  private let port: UInt16
  private let process: ChildProcess

  init(_ folder: TemporaryFolder) async throws {
    self.folder = folder
    path = folder.path + "/served"
    try FileManager.default.createDirectory(atPath: path + "/bucket", withIntermediateDirectories: true)
    port = try LoopbackPort.free()
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

  deinit { end() }

  func end() { process.kill() }

  var address: String { "http://127.0.0.1:\(port)" }

  func client(unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds) throws -> S3Client {
    S3Client(try S3Endpoint(address), transport: try S3HTTPTransport(), unixMs: unixMs)
  }
}
