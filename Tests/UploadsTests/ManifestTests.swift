import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// Manifests list each object once, whichever process writes them and whatever fails meanwhile.
@Suite("Manifests", .timeLimit(.minutes(5))) struct ManifestTests {
  private static let name = "a/manifest.ndjson"
  private let folder: TemporaryFolder
  private let server = MemoryServer()
  private let clock = ManualClock()
  init() throws { folder = try TemporaryFolder() }

  private func run() throws -> QueueRun {
    var options = UploadQueue.Options()
    options.random = { 1 }
    return try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(clock), unixMs: { 1_763_800_000_123 },
      options: options)
  }

  private func requests(_ keys: [String], afterwards: UploadRequest.Afterwards = .keep) throws -> [UploadRequest] {
    let path = try folder.file("f", 100, seed: 1)
    let content = try ObjectContent(readingFile: path, contentType: "audio/wav", metadata: ["device": "Zoë"])
    return keys.map { key in
      var request = UploadRequest(content, bucket: "bucket", key: key, account: "a", afterwards: afterwards)
      request.manifest = Self.name
      return request
    }
  }

  private var keys: [String] {
    get throws {
      try String(decoding: server.object("bucket/" + Self.name) ?? [], as: UTF8.self).split(separator: "\n").map {
        try JSONDecoder().decode(ManifestEntry.self, from: Data($0.utf8)).key
      }
    }
  }

  @Test("Lines are sorted by key, and lines of other programs stay") func linesAreInOrderAndStrangersStay() throws {
    var manifest = Manifest(Data("{\"key\":\"b\",\"size\":1}\nnot ours\n{\"name\":\"x\"}\n{\"key\":\"a\"}".utf8))
    manifest.add(#"{"key":"b","size":2}"#)
    manifest.add(#"{"key":"c"}"#)
    let text = "not ours\n{\"name\":\"x\"}\n{\"key\":\"a\"}\n{\"key\":\"b\",\"size\":2}\n{\"key\":\"c\"}\n"
    #expect(String(decoding: manifest.data, as: UTF8.self) == text)
    #expect(Manifest(manifest.data) == manifest)
    #expect(Manifest().data == Data())
  }

  @Test("An uploaded object is listed once") func whatWasDeliveredIsListedOnce() async throws {
    let run = try run()
    let ids = try await run.queue.add(try requests(["a/2.wav", "a/1.wav"]))
    let running = run.start()
    // The first upload starts the delay, and only the objects uploaded before its end are listed then.
    try await run.until { try $0.totals().items == [.done: 2] }
    await clock.advance(toSleeperAt: UploadQueue.manifestDelay)
    try await eventually("the manifest lists the objects") { try keys == ["a/1.wav", "a/2.wav"] }
    try await run.until { try $0.unwrittenManifests().isEmpty }
    let line = String(decoding: server.object("bucket/" + Self.name) ?? [], as: UTF8.self).split(separator: "\n")[0]
    let sum = try #require(try run.store.item(ids[1])).request.content.sha256
    #expect(
      line == """
        {"account":"a","bucket":"bucket","content_type":"audio/wav","key":"a/1.wav","metadata":{"device":"Zoë"},\
        "sha256":"\(sum)","size":100,"uploaded_at":"2025-11-22T08:26:40.123Z"}
        """)
    // A later object of that day.
    try await run.queue.add(try requests(["a/3.wav"]))
    try await run.until { try $0.totals().items == [.done: 3] }
    await clock.advance(toSleeperAt: UploadQueue.manifestDelay * 2)
    try await eventually("the manifest lists the objects") { try keys == ["a/1.wav", "a/2.wav", "a/3.wav"] }
    #expect(server.writes(of: "bucket/" + Self.name) == 2)
    running.cancel()
    try await running.value
  }

  @Test("Lines that are not written yet survive the process") func whatIsNotListedYetOutlivesTheProgram() async throws {
    let first = try run()
    let ids = try await first.queue.add(try requests(["a/1.wav"], afterwards: .remove))
    let running = first.start()
    try await first.until { try $0.item(ids[0])?.state == .done }
    running.cancel()
    try await running.value
    #expect(server.object("bucket/" + Self.name) == nil)
    let next = try QueueRun(again: first, at: server, clock: TimeSource(clock))
    let again = next.start()
    await clock.advance(toSleeperAt: UploadQueue.manifestDelay)
    try await eventually("the manifest lists the objects") { try keys == ["a/1.wav"] }
    again.cancel()
    try await again.value
  }

  @Test("A lost response to a manifest's write leads to no second write") func aLostReplyListsNothingTwice()
    async throws
  {
    let isFirst = Lock(true)
    server.afterwards { request in
      guard request.method == "PUT", request.path.hasSuffix(Self.name) else { return }
      if isFirst.take() { throw UploadsError(.interrupted, "the reply is lost") }
    }
    let run = try run()
    try await run.queue.add(try requests(["a/1.wav"]))
    let running = run.start()
    await clock.advance(toSleeperAt: UploadQueue.manifestDelay)
    await clock.advance(toSleeperAt: UploadQueue.manifestDelay + QueueMachine.backoff.base)
    try await run.until { try $0.unwrittenManifests().isEmpty }
    #expect(try keys == ["a/1.wav"])
    #expect(server.writes(of: "bucket/" + Self.name) == 1)
    running.cancel()
    try await running.value
  }

  /// The other host writes between our read and our write; a server without conditional requests gets none.
  @Test("Two hosts write one manifest without losing lines", arguments: [true, false]) func twoMachinesWriteOne(
    hasConditions: Bool
  ) async throws {
    let other = Data("{\"key\":\"a/0.wav\"}\n".utf8)
    let isFirst = Lock(true)
    server.intercept { [weak server] request in
      let isConditional = request.headers.contains { $0.name.hasPrefix("If-") }
      if isConditional, !hasConditions { return MemoryServer.refusal(501, "NotImplemented") }
      if request.method == (hasConditions ? "PUT" : "HEAD"), request.path.hasSuffix(Self.name),
        isFirst.take()
      {
        server?.put(other, as: "bucket/" + Self.name)
      }
      return nil
    }
    let run = try run()
    try await run.queue.add(try requests(["a/1.wav"]))
    let running = run.start()
    await clock.advance(toSleeperAt: UploadQueue.manifestDelay)
    try await run.until { try $0.unwrittenManifests().isEmpty && $0.totals().items == [.done: 1] }
    let text = String(decoding: server.object("bucket/" + Self.name) ?? [], as: UTF8.self)
    #expect(text.hasPrefix(String(decoding: other, as: UTF8.self)))
    #expect(text.contains("a/1.wav"))
    running.cancel()
    try await running.value
  }

  @Test("A manifest that is too large is reported") func aManifestThatCannotBeWrittenIsSaidSo() async throws {
    server.put(Data(count: Int(Manifest.sizeLimit) + 1), as: "bucket/" + Self.name)
    let run = try run()
    try await run.queue.add(try requests(["a/1.wav"]))
    let running = run.start()
    await clock.advance(toSleeperAt: UploadQueue.manifestDelay)
    try await eventually("the queue reports a problem") { await run.queue.status.problem != nil }
    #expect(await run.queue.status.problem?.contains(Self.name) == true)
    #expect(try run.store.totals().items == [.done: 1])
    #expect(try run.store.unwrittenManifests().count == 1)
    running.cancel()
    try await running.value
  }

  @Test("A manifest cannot list itself") func nothingListsItself() throws {
    let error = #expect(throws: UploadsError.self) { try run().store.add(try requests([Self.name])) }
    #expect(error?.code == .invalidArgument)
  }
}
