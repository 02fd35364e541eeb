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

      An existing object with other content is never replaced, unless --replace is set.

      EXAMPLES
        edgeblue upload talk.wav --bucket recordings
        edgeblue upload *.wav --bucket recordings --prefix ada/desk/ --endpoint http://127.0.0.1:8333
        edgeblue upload big.iso --bucket backup --key isos/today.iso --replace
        edgeblue upload talk.wav --bucket recordings --later && edgeblue uploads list
      """)

  @Argument(help: ArgumentHelp("The files to upload.", valueName: "file")) var files: [String]
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
  // One more than the default of the queue, because a user waits.
  @Option(help: ArgumentHelp("The number of concurrent uploads, 1 to 64.", valueName: "n")) var concurrency = 4
  @OptionGroup var queue: QueueOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard key == nil || files.count == 1 else { throw ValidationError("--key requires exactly one file.") }
    guard bucket != nil || store.tokenService != nil else {
      throw ValidationError("--bucket or --token-service is required.")
    }
    guard (1...64).contains(concurrency) else { throw ValidationError("--concurrency: allowed are 1 to 64.") }
  }

  func run() async throws {
    try await common.run { terminal in
      // Wrong names are reported before anything is queued.
      for file in files { try check(file) }
      let place = try await place()
      let items = try queue.open()
      guard !later else { return try queueOnly(items, place, terminal) }
      let uploads = try store.queue(items, concurrency: concurrency)
      let requests: [@Sendable () throws -> UploadRequest] = files.map { file in { [self] in try request(file, place) }
      }
      try await untilInterrupted { try await UploadFollower(items, uploads, terminal).run(queueing: requests) }
    }
  }

  /// Returns the bucket and scope: those of the token service, if the user names no bucket.
  private func place() async throws -> (bucket: String, scope: S3Scope) {
    if let bucket { return (bucket, S3Scope()) }
    let scope = try await store.provider().credentials().scope
    guard let scope, let bucket = scope.bucket else {
      throw Failure("the token service returned no bucket", hint: "name one with --bucket", status: .badInput)
    }
    return (bucket, scope)
  }

  private func queueOnly(
    _ items: QueueStore, _ place: (bucket: String, scope: S3Scope), _ terminal: Terminal
  ) throws {
    for (id, file) in zip(try items.add(try files.map { try request($0, place) }), files) {
      terminal.say("\(file.printable): queued as item \(id)")
      if terminal.json { terminal.print(json: .object(["item": .number(Int(id)), "file": .string(file)])) }
    }
  }

  private func check(_ file: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) else {
      throw Failure("\(file.printable) does not exist", status: .badInput)
    }
    guard !isFolder.boolValue else {
      throw Failure(
        "\(file.printable) is a folder", hint: "name the files in it, such as \(file.printable)/*", status: .badInput)
    }
  }

  private func request(_ file: String, _ place: (bucket: String, scope: S3Scope)) throws -> UploadRequest {
    let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
    let name = URL(filePath: file).lastPathComponent
    let content = try ObjectContent(readingFile: path, contentType: contentType ?? MediaType.of(name))
    return UploadRequest(
      content, bucket: place.bucket, key: place.scope.key(key ?? prefix + name), account: store.account,
      isReplacing: replace,
      afterwards: remove ? .remove : .keep)
  }
}
