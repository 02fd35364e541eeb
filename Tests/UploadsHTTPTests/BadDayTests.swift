import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// A slow line with faults, a program that is killed again and again, and objects of others under the same keys.
@Suite(
  "A bad day of the built program", .enabled(if: Program.isThere, "needs the command: swift build"),
  .timeLimit(.minutes(20)))
struct BadDayTests {
  @Test("SeaweedFS", .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"))
  func seaweedFS() async throws { try await survives(.seaweedFS) }

  @Test("rclone", .enabled(if: Rclone.isThere, "needs rclone: scripts/python-peers"))
  func rclone() async throws { try await survives(.rclone) }

  @Test("moto", .enabled(if: Moto.isThere, "needs moto: scripts/python-peers"))
  func moto() async throws { try await survives(.moto) }

  @Test("Ceph", .enabled(if: ScriptedServer.isThere(.ceph), "needs Ceph: scripts/test servers"))
  func ceph() async throws { try await survives(.ceph) }

  @Test("Swift", .enabled(if: ScriptedServer.isThere(.swift), "needs Swift: scripts/test servers"))
  func swift() async throws { try await survives(.swift) }

  /// Files, of which every fiftieth has a key that somebody else has used.
  private static let count = 150
  /// The files that go in parts: one is begun before the first kill, and one has the key of somebody else.
  private static let large = [1, 57]
  private static let taken = 50
  private static let kills = 6

  private func survives(_ name: TestedServer.Name) async throws {
    let seed = UInt64.random(in: 1...1_000_000)
    print("\(name.rawValue), seed \(seed)")
    let server = try await TestedServer(name)
    defer { server.end() }
    let day = try BadDay(server, seed: seed)
    for number in 0..<Self.count {
      try await day.queue(number, size: Self.large.contains(number) ? 17 << 20 : nil, isTaken: number % Self.taken == 7)
    }
    for _ in 0..<Self.kills { try await day.live(for: nil) }
    try await day.live(for: .seconds(600))
    try await day.isRight(done: Self.count - Self.count / Self.taken, failed: Self.count / Self.taken)
  }
}

/// The queue, the files and the server of such a day.
private struct BadDay {
  private let server: TestedServer
  private let client: S3Client
  private let folder: TemporaryFolder
  private let store: QueueStore
  private let proxy: FaultProxy
  private let prefix: String
  private let random: Lock<SeededGenerator>
  private let others: Lock<[String: Data]> = Lock([:])

  init(_ server: TestedServer, seed: UInt64) throws {
    self.server = server
    client = try server.client()
    folder = try TemporaryFolder()
    store = try QueueStore(path: folder.path + "/uploads.sqlite")
    prefix = "bad-day/\(seed)/"
    random = Lock(SeededGenerator(seed: seed))
    let dice = Lock(SeededGenerator(seed: seed))
    let port = try #require(URL(string: server.address)?.port)
    proxy = try FaultProxy(before: UInt16(port)) { _, _ in
      switch dice.withLock({ Int.random(in: 0..<60, using: &$0) }) {
      case 0: .refused
      case 1: .lostReply
      case 2: .resetAfter(1000)
      default: .slow(2 << 20)
      }
    }
  }

  /// Queues a file, perhaps beside an object that somebody else has stored under its key.
  func queue(_ number: Int, size: Int?, isTaken: Bool) async throws {
    let key = "\(prefix)\(number)"
    let (length, seed) = random.withLock { (Int.random(in: 0..<60_000, using: &$0), $0.next()) }
    let path = try folder.file("\(number)", size ?? length, seed: seed)
    try store.add([
      UploadRequest(try ObjectContent(readingFile: path), bucket: server.bucket, key: key, account: "default")
    ])
    guard isTaken else { return }
    let theirs = Data("of somebody else, \(number)".utf8)
    let isStored = try await client.put(
      theirs, contentType: "text/plain", over: nil, bucket: server.bucket, key: key, credentials: server.credentials)
    #expect(isStored)
    others.withLock { $0[key] = theirs }
  }

  /// Runs the program for a random time until it is killed, or until nothing is left to do.
  func live(for limit: Duration?) async throws {
    let program = try ChildProcess(
      Program.path,
      [
        "uploads", "run", "--state", folder.path, "--endpoint", "http://127.0.0.1:\(proxy.port)", "--log-level",
        "critical",
      ],
      environment: [
        "AWS_ACCESS_KEY_ID": server.credentials.accessKey, "AWS_SECRET_ACCESS_KEY": server.credentials.secretKey,
        "HOME": folder.path,
      ], output: .discarded, errors: .kept)
    if let limit {
      try await eventually("everything is uploaded", within: limit) {
        try store.items(in: [.waiting, .uploading, .delivered]).isEmpty
      }
      program.signal(SIGTERM)
      let end = await program.outcome()
      #expect(end.status == 0, "\(end.errors)")
    } else {
      let milliseconds = random.withLock { Int.random(in: 300...1500, using: &$0) }
      try await Task.sleep(for: .milliseconds(milliseconds), clock: .steady)
      program.signal(SIGKILL)
      _ = await program.outcome()
    }
    // Nothing is claimed that the server does not have.
    for item in try store.items(in: [.done, .delivered]) where limit == nil { try await isStored(item) }
  }

  /// Checks that every item is on the server with its bytes, and those of others with theirs.
  func isRight(done: Int, failed: Int) async throws {
    let others = others.withLock { $0 }
    let totals = try store.totals().items
    #expect(totals == [.done: done, .failed: failed], "\(prefix)")
    for item in try store.items(in: [.done]) {
      try await isStored(item)
      #expect(others[item.request.key] == nil, "\(item.request.key) was another's")
    }
    for (key, theirs) in others {
      #expect(try await bytes(key) == theirs, "\(key) was replaced")
    }
  }

  private func isStored(_ item: UploadItem) async throws {
    let sum = Digests(of: try await bytes(item.request.key)).sha256.hex
    #expect(sum == item.request.content.sha256, "\(item.request.key)")
  }

  private func bytes(_ key: String) async throws -> Data {
    try await client.bytes(bucket: server.bucket, key: key, limit: 64 << 20, credentials: server.credentials)
  }
}
