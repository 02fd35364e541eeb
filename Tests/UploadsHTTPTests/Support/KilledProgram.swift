import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// The command, as `swift build` has made it.
enum Program {
  static let path = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../.build/debug/edgeblue").standardized.path
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }
}

/// A queue that the program uploads to a real server; the program may be killed at any moment and is restarted.
struct KilledProgram: Sendable {
  let folder: TemporaryFolder
  let store: QueueStore
  private let server: SeaweedFS
  private let proxy: FaultProxy
  private let prefix: String
  private let random: Lock<SeededGenerator>
  private let bytes = Lock<[String: Data]>([:])

  /// - Parameters:
  ///   - name: what the keys begin with.
  ///   - seed: of the files.
  ///   - proxy: what stands before the server.
  init(_ name: String, seed: UInt64, _ server: SeaweedFS, _ proxy: FaultProxy) throws {
    folder = try TemporaryFolder()
    store = try QueueStore(path: folder.path + "/uploads.sqlite")
    self.server = server
    self.proxy = proxy
    prefix = "\(name)/\(seed)/"
    random = Lock(SeededGenerator(seed: seed))
  }

  private var manifest: String { prefix + "manifest.ndjson" }

  /// Queues files for one life; one in twenty goes in parts.
  func queue(_ count: Int, life: Int) throws {
    for number in 0..<count {
      let (size, seed) = random.withLock { random in
        let size = Int.random(in: 0..<20, using: &random) == 0 ? 17 << 20 : Int.random(in: 0..<200_000, using: &random)
        return (size, random.next())
      }
      let key = "\(prefix)\(life)-\(number)"
      let path = try folder.file("\(life)-\(number).wav", size, seed: seed)
      let data = try Data(contentsOf: URL(filePath: path))
      bytes.withLock { $0[key] = data }
      var request = UploadRequest(
        try ObjectContent(readingFile: path), bucket: SeaweedFS.bucket, key: key, account: "default",
        afterwards: .remove)
      request.manifest = manifest
      try store.add([request])
    }
  }

  /// Begins a life.
  /// - Parameter wrapper: the words that run it.
  func start(under wrapper: [String] = []) throws -> ChildProcess {
    let words =
      wrapper + [
        Program.path, "uploads", "run", "--state", folder.path, "--endpoint", "http://127.0.0.1:\(proxy.port)",
        "--log-level", "critical",
      ]
    return try ChildProcess(
      words[0], Array(words.dropFirst()),
      environment: [
        "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
        "HOME": folder.path,
      ], output: .discarded)
  }

  /// Looks at what a life has left: a file that is not there any more is on the server.
  func nothingIsGoneEarly() async throws {
    for item in try store.items(in: [.waiting, .uploading, .failed]) {
      #expect(item.state != .failed, "\(item.problem ?? "")")
      #expect(FileManager.default.fileExists(atPath: item.request.content.path), "\(item.request.key) is lost")
    }
    for item in try store.items(in: [.delivered]) {
      #expect(try await server.bytes(of: item.request.key) == bytes.withLock { $0[item.request.key] })
    }
  }

  /// Has the last life end in peace, and looks at all that there is.
  func finish() async throws {
    let program = try start()
    while try !store.items(in: [.waiting, .uploading, .delivered]).isEmpty || !store.unwrittenManifests().isEmpty {
      try await Task.sleep(for: .milliseconds(50), clock: .steady)
    }
    program.signal(SIGTERM)
    #expect(await program.outcome().status == 0)
    let bytes = bytes.withLock { $0 }
    for (key, data) in bytes {
      #expect(try await server.bytes(of: key) == data, "\(key)")
      #expect(proxy.made(key) == 1, "\(key) was made \(proxy.made(key)) times")
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".wav") }
    #expect(left == [], "\(prefix)")
    #expect(try store.totals().items == [.done: bytes.count], "\(prefix)")
    let listed = String(decoding: try await server.bytes(of: manifest), as: UTF8.self).split(separator: "\n")
    let keys = try listed.map { try JSONDecoder().decode(ManifestEntry.self, from: Data($0.utf8)).key }
    #expect(keys == bytes.keys.sorted(), "\(prefix)")
  }
}
