import ArgumentParser
import Foundation
import Uploads

/// `edgeblue upload`
struct UploadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload",
    abstract: "Upload files to an object store (S3), with retries until the server has them.",
    discussion: """
      The files are queued on disk first, and then uploaded until the server has shown that it has the same bytes. If \
      the network, the server or this program fails, nothing is lost or duplicated: `edgeblue uploads run`, or the same \
      command again, continues. Files stay where they are, unless --remove is set.

      What recorders of the same account have left for the same bucket (`edgeblue record --upload`) is uploaded as well, \
      and waited for.

      An existing object with other content is never replaced, unless --replace is set.

      EXAMPLES
        edgeblue upload talk.wav --bucket recordings
        edgeblue upload *.wav --bucket recordings --prefix ada/desk/ --endpoint http://127.0.0.1:8333
        edgeblue upload big.iso --bucket backup --key isos/today.iso --replace
        edgeblue upload talk.wav --bucket recordings --later && edgeblue uploads list
        edgeblue upload talk.wav --bucket recordings --wait 60 || echo "still queued"
      """)

  @Argument(help: ArgumentHelp("The files to upload.", valueName: "file"), completion: .file()) var files: [String]
  @Option(
    help: ArgumentHelp("The bucket to upload to. Default: the one that --token-service names.", valueName: "name"))
  var bucket: String?
  @Option(help: ArgumentHelp("The prefix of each key; the file name follows.", valueName: "text"))
  var prefix = ""
  @Option(help: ArgumentHelp("The complete key, for a single file.", valueName: "key")) var key: String?
  @Option(help: ArgumentHelp("The media type of the objects. Default: derived from each file name.", valueName: "type"))
  var contentType: String?
  @Flag(help: "Replace existing objects.") var replace = false
  @Flag(help: "Remove each file once the server has it.") var remove = false
  @Flag(help: "Queue the files without uploading them now.") var later = false
  @Option(
    help: ArgumentHelp(
      "End after this time with status 75, whatever is left; it stays queued.", valueName: "seconds"))
  var wait: Int?
  // One more than the default of the queue, because a user waits.
  @Option(help: ArgumentHelp("The number of concurrent uploads, 1 to 64.", valueName: "n")) var concurrency = 4
  @OptionGroup var queue: QueueOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard key == nil || files.count == 1 else { throw ValidationError("--key requires exactly one file.") }
    guard bucket != nil || store.tokenService != nil else {
      throw ValidationError("--bucket or --token-service is required.")
    }
    try checkRange(of: "--concurrency", concurrency, 1...64)
    try Self.check(wait: wait)
  }

  static func check(wait: Int?) throws {
    try checkRange(of: "--wait", wait, 1...1_000_000, unit: "s")
  }

  func run() async throws {
    try await common.run { terminal in
      try insecure.check(["--endpoint": store.endpoint, "--token-service": store.tokenService], terminal)
      // Wrong names are reported before anything is queued.
      let (files, unreadable) = Self.sorted(files)
      for file in files { try check(file) }
      for name in unreadable {
        terminal.happened(
          "\(name.printable): not queued, because its name is not UTF-8", "problem",
          ["file": .string(name), "error": "the name is not UTF-8"])
      }
      guard !files.isEmpty else {
        try note(unreadable, in: queue.openIfExists())
        throw Self.unnamed(unreadable.count)
      }
      let items = try queue.open()
      try note(unreadable, in: items)
      let server = try store.server(items)
      if store.endpoint == nil { try insecure.check(server, terminal) }
      let place = try await place(at: server)
      guard !later else {
        if try store.namesServer { try items.remember(UploadServer(server)) }
        try queueOnly(files, items, place, terminal)
        guard unreadable.isEmpty else { throw Self.unnamed(unreadable.count) }
        return
      }
      let uploads = try store.queue(items, at: server, concurrency: concurrency)
      let requests: [@Sendable () throws -> UploadRequest] = files.map { file in { [self] in try request(file, place) }
      }
      let follower = UploadFollower(items, uploads, terminal, limit: wait.map { .seconds($0) })
      let isUploaded: @Sendable (UploadRequest) -> Bool = { isCovered($0, place) }
      try await untilInterrupted { try await follower.run(queueing: requests, withRecordings: isUploaded) }
      guard unreadable.isEmpty else { throw Self.unnamed(unreadable.count) }
    }
  }

  /// The server and bucket that files are uploaded to, and the part of the bucket that the credentials cover.
  private struct Place {
    /// The URL of the server; `nil` to leave it to the program that uploads later.
    let endpoint: String?
    let bucket: String
    let scope: S3Scope
  }

  /// Returns the bucket and scope: those of the token service, if the user names no bucket.
  private func place(at server: S3Endpoint) async throws -> Place {
    let endpoint = try later && !store.namesServer ? nil : server.url
    if let bucket { return Place(endpoint: endpoint, bucket: bucket, scope: S3Scope()) }
    let scope = try await store.provider().credentials().scope
    guard let scope, let bucket = scope.bucket else {
      throw Failure("the token service returned no bucket", hint: "name one with --bucket", status: .badInput)
    }
    return Place(endpoint: endpoint, bucket: bucket, scope: scope)
  }

  /// Returns whether the credentials of this command surely cover a request of a recorder: it would wait for another one
  /// without end.
  private func isCovered(_ request: UploadRequest, _ place: Place) -> Bool {
    // With a token service a scope is known only if it has named the bucket.
    guard store.tokenService == nil || bucket == nil, request.account == store.account else { return false }
    return request.bucket == place.bucket && request.key.utf8.starts(with: place.scope.prefix.utf8)
  }

  /// Separates the files whose names no key can have: they must not keep the others from being uploaded.
  private static func sorted(_ files: [String]) -> (named: [String], unreadable: [String]) {
    let unreadable = files.filter { $0.contains("\u{fffd}") && !FileManager.default.fileExists(atPath: $0) }
    return (files.filter { !unreadable.contains($0) }, unreadable)
  }

  /// Records the files whose names no key can have, for `edgeblue uploads events`.
  private func note(_ unreadable: [String], in items: QueueStore?) throws {
    for name in unreadable { try items?.record(notQueued: "\(name.printable): its name is not UTF-8") }
  }

  private static func unnamed(_ count: Int) -> Failure {
    Failure(
      "\(count) \(count == 1 ? "file was" : "files were") not queued, because the name is not UTF-8",
      hint: "rename it, for example with convmv", status: .badInput)
  }

  private func queueOnly(
    _ files: [String], _ items: QueueStore, _ place: Place, _ terminal: Terminal
  ) throws {
    for (id, file) in zip(try items.add(try files.map { try request($0, place) }), files) {
      terminal.say("\(file.printable): queued as item \(id)")
      if terminal.json { terminal.print(json: .object(["item": .number(Int(id)), "file": .string(file)])) }
    }
  }

  private func check(_ file: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) else {
      throw Failure("\(file.printable) does not exist", status: .unavailable)
    }
    guard !isFolder.boolValue else {
      throw Failure(
        "\(file.printable) is a folder", hint: "name the files in it, such as \(file.printable)/*", status: .badInput)
    }
  }

  private func request(_ file: String, _ place: Place) throws -> UploadRequest {
    let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
    let name = URL(filePath: file).lastPathComponent
    let content = try ObjectContent(readingFile: path, contentType: contentType ?? MediaType.of(name))
    var request = UploadRequest(
      content, bucket: place.bucket, key: place.scope.key(key ?? prefix + name), account: store.account,
      isReplacing: replace, afterwards: remove ? .remove : .keep)
    request.endpoint = place.endpoint
    return request
  }
}
