import DBus
import DBusTesting
import Foundation
import Testing

@testable import Uploads
@testable import UploadsTests

/// `edgeblue upload` as it was built, at a real server.
@Suite(
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"), .timeLimit(.minutes(5)))
struct UploadProgramTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func upload(
    _ files: [String], _ more: String..., bucket: String = SeaweedFS.bucket
  ) async throws -> (status: Int32, output: String, errors: String) {
    let words = ["upload"] + files + ["--bucket", bucket, "--state", folder.path + "/state", "--json"] + more
    let environment = [
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
      "HOME": folder.path,
    ]
    return try await ChildProcess(Program.path, words, environment: environment, errors: .kept).outcome()
  }

  @Test func manyFilesAreReadWhileTheFirstOnesAreUploaded() async throws {
    let server = try await SeaweedFS.running()
    let files = try (0..<40).map { try folder.file("\($0).bin", $0 == 20 ? 17 << 20 : 1000 * $0, seed: UInt64($0)) }
    let first = try await upload(files, "--prefix", "many/", "--endpoint", server.address)
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.output.split(separator: "\n").count { $0.contains(#""event":"uploaded""#) } == 40)
    for file in files {
      let name = URL(filePath: file).lastPathComponent
      #expect(try await server.bytes(of: "many/" + name) == Data(contentsOf: URL(filePath: file)), "\(name)")
    }
    // Again: they are there, and nobody is asked.
    let again = try await upload(files, "--prefix", "many/", "--endpoint", "http://127.0.0.1:1")
    #expect(again.status == 0 && again.output.split(separator: "\n").count == 40, "\(again.errors)")
  }

  @Test func whatCannotBeIsSaidSo() async throws {
    let server = try await SeaweedFS.running()
    let file = try folder.file("one.bin", 100, seed: 1)
    let missing = try await upload([file, folder.path + "/two.bin"], "--endpoint", server.address)
    #expect(missing.status == 65 && missing.errors.contains("there is no file"))
    let isFolder = try await upload([folder.path], "--endpoint", server.address)
    #expect(isFolder.status == 65 && isFolder.errors.contains("is a folder"))
    // Nothing of it was queued.
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/state"))
    let refused = try await upload([file], "--endpoint", server.address, bucket: "no-such-bucket")
    #expect(refused.status == 70 && refused.errors.contains("1 of 1 could not be uploaded"), "\(refused.errors)")
    #expect(try QueueStore(path: folder.path + "/state/uploads.sqlite").totals().items == [.failed: 1])
  }
}
