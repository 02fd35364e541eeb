import AudioIngest
import AudioIngestTesting
import Foundation
import SystemTesting
import Testing
import Timing

@testable import Uploads

/// A program that uploads what a recorder has left.
enum Successor: String, CaseIterable, Sendable {
  case uploads
  case agent
  case recorder
  case upload
}

/// The built recorder with a wearable of a fake radio, which uploads to a real object store.
struct RecorderSession {
  /// The time within which a program has started, connected, uploaded or ended: a hang, and not a slow machine, takes
  /// longer. The bar for uploading is 60 s, and the time is printed.
  private static let patience = Duration.seconds(200)
  /// The number of frames of 10 ms that are sent at once, on top of 50 that may still be on their way: a socket holds about
  /// 170, and discards more, as a radio does.
  private static let batch = 60

  private let folder: TemporaryFolder
  private let lab: FakeRadio
  private let wearable: FakeWearable
  private let server: SeaweedFS
  private let format: AudioFileFormat
  private let prefix: String
  private let environment: [String: String]
  private let recorder: ChildProcess

  private var out: String { folder.path + "/recordings" }
  private var state: String { folder.path + "/state" }

  init(format: AudioFileFormat = .wav) async throws {
    folder = try TemporaryFolder()
    server = try await SeaweedFS.running()
    lab = try await FakeRadio()
    wearable = try await FakeWearable(on: lab.adapters[0])
    self.format = format
    prefix = "heard-\(UUID().uuidString)/"
    guard case .address(let bus) = lab.fake.bus else { throw MissingProgram("a bus of its own") }
    environment = [
      "DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": folder.path,
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
    ]
    recorder = try ChildProcess(
      Program.path,
      Self.words(folder, lab, format) + [
        "--upload", SeaweedFS.bucket, "--account", "ada", "--prefix", prefix, "--endpoint", server.address,
      ], environment: environment, errors: .kept)
  }

  private static func words(_ folder: TemporaryFolder, _ lab: FakeRadio, _ format: AudioFileFormat) -> [String] {
    [
      "record", "--out", folder.path + "/recordings", "--state", folder.path + "/state", "--reserve", "0",
      "--adapter", lab.fake.adapters[1].name, "--wearable", lab.adapters[0].address.description, "--format",
      format.rawValue,
    ]
  }

  /// Sends seconds of audio, and waits until the recorder has passed it to the kernel: it has heard that.
  func record(seconds: Int) async throws {
    try await watching(recorder, "while it subscribes to the audio") {
      try await eventually("the recorder subscribes", within: Self.patience) { wearable.isSubscribed }
    }
    try await watching(recorder, "while it records") {
      for first in stride(from: 0, to: seconds * 100, by: Self.batch) {
        try await wearable.send(
          (first..<first + Self.batch).map { Array(Recording.bytes(Recording.ramp($0 * 160..<($0 + 1) * 160))) })
        // What waits to be written is less than half of a second, until nothing more comes.
        let sent = (first + Self.batch) * 160
        let least = first + Self.batch >= seconds * 100 ? sent : sent - 8000
        try await eventually("\(least) samples are in files", within: Self.patience) { try writtenSamples() >= least }
      }
    }
  }

  /// The samples in finished segments and in the open one; 0 while a segment ends, when its last samples are in two files.
  private func writtenSamples() throws -> Int {
    // Files move from the open ones to the finished ones, which are counted first, so that none is counted twice.
    let finished = try files(in: out, ".wav")
    let open = try files(in: out + "/open", ".part")
    return open.count > 1 ? 0 : (finished + open).reduce(0) { $0 + max($1 - WAVHeader.length, 0) / 2 }
  }

  /// The sizes of the files in a folder whose names have an end.
  private func files(in folder: String, _ end: String) throws -> [Int] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(end) }.map {
      // It may be gone since its name was read.
      (try? FileManager.default.attributesOfItem(atPath: folder + "/" + $0)[.size]) as? Int ?? 0
    }
  }

  /// Ends the recorder by a signal; it exits with status 0 unless it is killed.
  func end(by signal: Int32) async throws {
    recorder.signal(signal)
    try await expectEnd(of: recorder, "after signal \(signal)", status: signal == SIGKILL ? -1 : 0)
  }

  /// Waits until a program has ended.
  private func expectEnd(of program: ChildProcess, _ phase: String, status: Int32 = 0) async throws {
    let end = await program.outcome(within: Self.patience)
    guard end.status == status else {
      throw TestTimeout("\(phase) it ended with \(end.status), not \(status):\n\(end.output)\(end.errors)")
    }
  }

  /// Does something that a program must do its part in. If that fails, the error has the phase, what the program has
  /// printed, and what its threads wait for; the program is killed then.
  private func watching(_ program: ChildProcess, _ phase: String, _ body: () async throws -> Void) async throws {
    do { try await body() } catch {
      let threads = program.threads
      program.signal(SIGKILL)
      let end = await program.outcome(within: Self.patience)
      throw TestTimeout("\(phase): \(error)\n\(end.output)\(end.errors)\(threads)")
    }
  }

  /// Removes the recorder's adapter: the link is lost. Waits until the recorder has uploaded everything.
  func loseLink() async throws {
    try await lab.fake.adapters[1].unplug()
    try await watching(recorder, "without a link") { try await waitForUploads() }
  }

  func stop() async throws { try await lab.stop() }

  // MARK: What comes next

  // No program is told the server: the folder's record has it, also when nothing was queued yet.

  /// Runs the queue until nothing is left, within the limit.
  func runUploads() async throws {
    let begin = ContinuousClock.now
    let seconds = "\(Self.patience.components.seconds)"
    let uploads = try ChildProcess(
      Program.path,
      [
        "uploads", "run", "--once", "--wait", seconds, "--account", "ada", "--state", state,
      ],
      environment: environment, errors: .kept)
    try await expectEnd(of: uploads, "uploads run")
    print("uploads run has uploaded everything after \(begin.duration(to: .now))")
  }

  /// Runs a program until everything is in the bucket.
  func run(_ successor: Successor) async throws {
    switch successor {
    case .uploads: return try await runUploads()
    case .upload:
      try await uploadAnotherFile(of: "ada")
      // Nobody else uploads any more.
      #expect(try isUploaded())
      return
    case .agent, .recorder: break
    }
    let words =
      successor == .agent
      ? [
        "agent", "--bus", environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "", "--state", state, "--uploads", "--account",
        "ada",
      ]
      : Self.words(folder, lab, format) + [
        "--upload", SeaweedFS.bucket, "--account", "ada", "--prefix", prefix, "--endpoint", server.address,
      ]
    let begin = ContinuousClock.now
    let program = try ChildProcess(Program.path, words, environment: environment, errors: .kept)
    try await watching(program, "while the \(successor) uploads") { try await waitForUploads() }
    print("the \(successor) has uploaded everything after \(begin.duration(to: .now))")
    program.signal(SIGTERM)
    try await expectEnd(of: program, "the \(successor), after SIGTERM")
  }

  /// Uploads a file of an account that has nothing to do with the recording.
  func uploadAnotherFile(of account: String) async throws {
    let file = folder.path + "/talk.txt"
    try Data("talk".utf8).write(to: URL(filePath: file))
    let upload = try ChildProcess(
      Program.path,
      [
        "upload", file, "--bucket", SeaweedFS.bucket, "--prefix", prefix, "--account", account, "--state", state,
        "--endpoint", server.address, "--wait", "\(Self.patience.components.seconds)",
      ],
      environment: environment, errors: .kept)
    try await expectEnd(of: upload, "upload")
  }

  /// Waits until all segments are uploaded, with their sidecars, within the limit.
  private func waitForUploads() async throws {
    try await eventually("everything is uploaded", within: Self.patience) {
      if try isUploaded() { return true }
      // To look opens the queue, which its uploader writes to.
      try await Task.sleep(for: .milliseconds(50), clock: .steady)
      return false
    }
  }

  private func isUploaded() throws -> Bool {
    let catalog = try SegmentCatalog(path: out)
    let items = try QueueStore(path: state + "/uploads.sqlite").items(in: Set(UploadItem.State.allCases)).filter {
      $0.request.content.path.hasPrefix(out + "/")
    }
    return catalog.openCount == 0 && !catalog.entries.isEmpty && items.count == catalog.entries.count * 2
      && items.allSatisfy { $0.state == .done }
  }

  // MARK: What the bucket has

  /// Compares the samples in the bucket with those that the wearable has sent.
  func expectEverything(seconds: Int) async throws {
    try await waitForUploads()
    let items = try QueueStore(path: state + "/uploads.sqlite").items(in: [.done])
    var heard: [Int16] = []
    let keys = items.map(\.request.key).filter { $0.hasSuffix("." + format.fileExtension) }.sorted()
    for key in keys { heard += try await samples(try await server.bytes(of: key)) }
    #expect(heard.count == seconds * 16_000)
    // Millions of samples are no message.
    let isWhole = heard == Recording.ramp(0..<seconds * 16_000)
    let missing = try SegmentCatalog(path: out).entries.map(\.segment.info.missingSamples)
    #expect(isWhole, "missing in the segments: \(missing)")
    #expect(keys.count == (try SegmentCatalog(path: out).entries.count))
  }

  /// Returns the samples of an object; FLAC is decoded by ffmpeg.
  private func samples(_ object: Data) async throws -> [Int16] {
    guard format != .wav else {
      return object.dropFirst(WAVHeader.length).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    }
    let (file, raw) = (folder.path + "/object", folder.path + "/raw")
    try object.write(to: URL(filePath: file))
    let ffmpeg = try ChildProcess("ffmpeg", ["-v", "error", "-y", "-i", file, "-f", "s16le", raw], errors: .kept)
    try await expectEnd(of: ffmpeg, "ffmpeg")
    return try Data(contentsOf: URL(filePath: raw)).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
  }
}
