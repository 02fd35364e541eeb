import DBus
import DBusTesting
import Foundation
import Testing
import Uploads

@testable import UploadsTests

/// The program as it was built, killed at random moments, and started again.
@Suite(
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: Program.path), "needs the command: swift build"),
  .timeLimit(.minutes(20)))
struct KillTests {
  /// `EDGEBLUE_KILLS=300` kills it so often, with seven items for each kill; the seed of a run that fails repeats what
  /// was done, not when.
  @Test func everyObjectIsMadeOnceWithTheRightBytes() async throws {
    let environment = ProcessInfo.processInfo.environment
    let kills = environment["EDGEBLUE_KILLS"].flatMap(Int.init) ?? 8
    let seed = environment["EDGEBLUE_SEED"].flatMap(UInt64.init) ?? .random(in: 1...1_000_000)
    print("killed \(kills) times, seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let server = try await SeaweedFS.running()
    let dice = Lock(SeededGenerator(seed: seed))
    let proxy = try FaultProxy(before: server.port) { _, _ in
      // One request in twenty meets a bad network.
      switch dice.withLock({ Int.random(in: 0..<80, using: &$0) }) {
      case 0: .refused
      case 1: .lostReply
      case 2: .answer(503, "<Error><Code>SlowDown</Code></Error>")
      case 3: .resetAfter(1000)
      default: .none
      }
    }
    let folder = try TemporaryFolder()
    let store = try QueueStore(path: folder.path + "/uploads.sqlite")
    var bytes: [String: Data] = [:]
    for life in 0...kills {
      // More is queued while it runs and is killed.
      for number in 0..<7 {
        let key = "kills/\(seed)/\(life)-\(number)"
        // One in twenty goes in parts.
        let size = Int.random(in: 0..<20, using: &random) == 0 ? 17 << 20 : Int.random(in: 0..<200_000, using: &random)
        let path = try folder.file("\(life)-\(number).wav", size, seed: random.next())
        bytes[key] = try Data(contentsOf: URL(filePath: path))
        let request = UploadRequest(
          try ObjectContent(readingFile: path), bucket: SeaweedFS.bucket, key: key, account: "default",
          afterwards: .remove)
        try store.add([request])
      }
      // The last ones are for the life that is not cut short: it has begun when they are done.
      if life == kills { break }
      let program = try start(folder, proxy)
      try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)), clock: .steady)
      program.kill()
      try await nothingIsGoneEarly(store, bytes, server)
    }
    let program = try start(folder, proxy)
    while try !store.items(in: [.waiting, .uploading, .delivered]).isEmpty {
      try await Task.sleep(for: .milliseconds(50), clock: .steady)
    }
    program.signal(SIGTERM)
    #expect(await program.outcome().status == 0)
    for (key, data) in bytes {
      #expect(try await server.bytes(of: key) == data, "seed \(seed): \(key)")
      #expect(proxy.made(key) == 1, "seed \(seed): \(key) was made \(proxy.made(key)) times")
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".wav") }
    #expect(left == [], "seed \(seed)")
    #expect(try store.totals().items == [.done: bytes.count], "seed \(seed)")
  }

  private func start(_ folder: TemporaryFolder, _ proxy: FaultProxy) throws -> ChildProcess {
    try ChildProcess(
      Program.path,
      [
        "uploads", "run", "--state", folder.path, "--endpoint", "http://127.0.0.1:\(proxy.port)", "--log-level",
        "critical",
      ],
      environment: [
        "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
        "HOME": folder.path,
      ], output: .discarded)
  }

  /// A file that is not there any more is on the server.
  private func nothingIsGoneEarly(_ store: QueueStore, _ bytes: [String: Data], _ server: SeaweedFS) async throws {
    for item in try store.items(in: [.waiting, .uploading, .failed]) {
      #expect(item.state != .failed, "\(item.problem ?? "")")
      #expect(FileManager.default.fileExists(atPath: item.request.content.path), "\(item.request.key) is lost")
    }
    for item in try store.items(in: [.delivered]) {
      #expect(try await server.bytes(of: item.request.key) == bytes[item.request.key])
    }
  }
}

/// The command, as `swift build` has made it.
private enum Program {
  static let path = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../.build/debug/edgeblue").standardized.path
}
