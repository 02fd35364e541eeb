import ArgumentParser
import Coverage
import DurableFiles
import Foundation
import Uploads

/// The options for the upload of finished sessions.
struct CoverageUploadOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The bucket that finished sessions are queued for as lines of GeoJSON, for `edgeblue uploads run`.",
      valueName: "name"))
  var bucket: String?
  @Option(help: ArgumentHelp("The account to queue uploads for.", valueName: "name")) var account = "default"
  @Option(help: ArgumentHelp("The prefix of each key.", valueName: "text")) var prefix = ""
  @Option(
    help: ArgumentHelp("The folder of the upload queue. Default: the usual state folder.", valueName: "folder"),
    completion: .directory)
  var queue: String?

  /// Returns the queue as a destination of sessions; `nil` without a bucket.
  /// - Parameter folder: The folder for the files that wait for their upload.
  func destination(in folder: CoverageFolder) throws -> CoverageUploads? {
    guard let bucket else { return nil }
    let uploads = CoverageUploads(
      store: try QueueOptions(state: queue).open(), folder: folder.uploads, bucket: bucket, account: account,
      prefix: prefix)
    try Disk().createFolder(uploads.folder)
    return uploads
  }
}

/// A queue of uploads that takes finished sessions: each is an object of lines of GeoJSON, listed in the manifest of its day.
struct CoverageUploads: CoverageDestination {
  let store: QueueStore
  let folder: String
  let bucket: String
  let account: String
  let prefix: String

  /// The largest file of a session in bytes: half a kilobyte for each of 60,000 fences.
  private static let sizeLimit = 32 << 20

  func take(_ session: CoverageSession, _ fences: [StoredFence]) async throws {
    let name = Self.name(of: session)
    let path = SegmentRequests.absolute("\(folder)/\(name).geojsonl")
    let file = WholeFile(path: path, limit: Self.sizeLimit)
    let lines = CoverageExport.geoJSONLines(.init(session: session, fences: fences))
    // The same bytes each time: a file that waits for its upload stays as it is.
    if try file.read() != lines { try file.write(lines) }
    var content = try ObjectContent(readingOwn: path, contentType: "application/x-ndjson")
    content.metadata = ["fences": "\(fences.count)", "session": name]
    let day = Self.day(of: session)
    var request = UploadRequest(
      content, bucket: bucket, key: "\(prefix)\(account)/coverage/\(day)/\(name).geojsonl", account: account,
      afterwards: .remove)
    request.manifest = "\(prefix)\(account)/coverage-manifests/date=\(day)/manifest.ndjson"
    try store.add([request])
  }

  /// The identifier at the control server if it can be part of a key, else that of the run and the session.
  private static func name(of session: CoverageSession) -> String {
    if let uuid = session.uuid, uuid.utf8.allSatisfy({ isPlain($0) }), uuid.first != "." { return uuid }
    return "\(session.run ?? "none")-\(session.id)"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || (0x30...0x39).contains(byte) || "-_.".utf8.contains(byte)
  }

  /// The day of the start in UTC, as ISO 8601 has it.
  private static func day(of session: CoverageSession) -> String {
    Date(timeIntervalSince1970: Double(session.startedUs) / 1e6).formatted(.iso8601.year().month().day())
  }
}
