import ArgumentParser
import Foundation
import Uploads

/// `edgeblue upload`
struct UploadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload",
    abstract: "Upload files to an object store (S3), and do not give up.",
    discussion: """
      The files are queued on disk first; then they are uploaded until the server has shown that it has the same bytes. \
      When the network, the server or this program fails meanwhile nothing is lost and nothing is there twice: \
      `edgeblue uploads run` goes on, or the same command again. A file stays where it is, unless --remove.

      An object that is there already and is another one is never replaced, unless --replace.

      EXAMPLES
        edgeblue upload talk.wav --bucket recordings
        edgeblue upload *.wav --bucket recordings --prefix ada/desk/ --endpoint http://127.0.0.1:8333
        edgeblue upload big.iso --bucket backup --key isos/today.iso --replace
        edgeblue upload talk.wav --bucket recordings --later && edgeblue uploads list
      """)

  @Argument(help: ArgumentHelp("The files.", valueName: "file")) var files: [String]
  @Option(help: ArgumentHelp("The bucket. Without it, the one that --token-service names.", valueName: "name"))
  var bucket: String?
  @Option(help: ArgumentHelp("What the key of each begins with; its file name follows.", valueName: "text"))
  var prefix = ""
  @Option(help: ArgumentHelp("The key of a single file, all of it.", valueName: "key")) var key: String?
  @Option(help: ArgumentHelp("What an object is, as a media type.", valueName: "type"))
  var contentType: String?
  @Flag(help: "Replace objects that are there.") var replace = false
  @Flag(help: "Remove each file once the server has it.") var remove = false
  @Flag(help: "Only queue them.") var later = false
  // One more than the queue has by itself: somebody waits.
  @Option(help: ArgumentHelp("How many go at once, 1 to 64.", valueName: "n")) var concurrency = 4
  @OptionGroup var queue: QueueOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard key == nil || files.count == 1 else { throw ValidationError("--key is for a single file.") }
    guard bucket != nil || store.tokenService != nil else {
      throw ValidationError("--bucket names the bucket, unless a --token-service does.")
    }
    guard (1...64).contains(concurrency) else { throw ValidationError("--concurrency is 1 to 64.") }
  }

  func run() async throws {
    try await common.run { terminal in
      // A name that is wrong is told before anything is done.
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

  /// Where to: what a token service says, when no bucket is named.
  private func place() async throws -> (bucket: String, scope: S3Scope) {
    if let bucket { return (bucket, S3Scope()) }
    let scope = try await store.provider().credentials().scope
    guard let scope, let bucket = scope.bucket else {
      throw Failure("the token service names no bucket", hint: "name one with --bucket", status: .badInput)
    }
    return (bucket, scope)
  }

  private func queueOnly(
    _ items: QueueStore, _ place: (bucket: String, scope: S3Scope), _ terminal: Terminal
  ) throws {
    for (id, file) in zip(try items.add(try files.map { try request($0, place) }), files) {
      terminal.say("\(file.printable) is queued as item \(id)")
      if terminal.json { terminal.print(json: .object(["item": .number(Int(id)), "file": .string(file)])) }
    }
  }

  private func check(_ file: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) else {
      throw Failure("there is no file \(file.printable)", status: .badInput)
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
