import ArgumentParser
import Foundation
import Logging
import Uploads
import UploadsHTTP

/// The options for the S3 server, and the credentials for it.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The URL of the server, such as http://127.0.0.1:8333. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or "
        + "endpoint_url in ~/.aws/config; else, for programs that upload the queue, the server that the items were queued for; else AWS in the region.",
      valueName: "url"))
  var endpoint: String?
  @Option(
    help: ArgumentHelp(
      "The region for which requests are signed. Default: AWS_REGION, AWS_DEFAULT_REGION, region in "
        + "~/.aws/config, or us-east-1.",
      valueName: "name"))
  var region: String?
  @Option(
    help: ArgumentHelp(
      "The position of the bucket in URLs: path or virtual-host. Default: addressing_style in ~/.aws/config; else "
        + "virtual-host for AWS, path for other servers.",
      valueName: "style"),
    completion: .words(S3Endpoint.Addressing.self), transform: named)
  var addressing: S3Endpoint.Addressing?
  @Option(
    help: ArgumentHelp(
      "A PEM file with certificates to trust in addition to the system's. Default: AWS_CA_BUNDLE or ca_bundle in "
        + "~/.aws/config.", valueName: "file"), completion: .file())
  var ca: String?
  @Option(
    help: ArgumentHelp(
      "The account. An item is uploaded only with the credentials of the account that queued it.",
      valueName: "name"))
  var account = "default"
  @Option(
    help: ArgumentHelp(
      "A credentials file in the format of AWS. Default: the systemd credential s3, AWS_ACCESS_KEY_ID and related "
        + "variables, or ~/.aws/credentials.", valueName: "file"), completion: .file())
  var credentials: String?
  @Option(
    help: ArgumentHelp("The profile in the files of AWS's tools. Default: AWS_PROFILE or default.", valueName: "name"))
  var profile: String?
  @Option(help: ArgumentHelp("The URL of a service that returns temporary credentials for a token.", valueName: "url"))
  var tokenService: String?
  @Option(
    help: ArgumentHelp(
      "The file with the token for the token service; it is read for each request. Default: the systemd credential "
        + "upload-token.", valueName: "file"), completion: .file())
  var tokenFile: String?

  func validate() throws {
    guard (tokenService == nil) == (tokenFile == nil) || tokenFile == nil && tokenPath != nil else {
      throw ValidationError("--token-service and --token-file require each other.")
    }
  }

  private var environment: [String: String] { ProcessInfo.processInfo.environment }
  private var tokenPath: String? { Secret.uploadToken.file(tokenFile, environment) }

  /// The settings of AWS's tools.
  private var settings: AWSSettings {
    get throws { try AWSSettings(environment: environment, profile: profile) }
  }

  /// The URL of the server that the user names, by the option or in the settings of AWS's tools.
  private var namedEndpoint: String? { get throws { try endpoint ?? settings.endpointURL } }
  private var certificates: String? { get throws { try ca ?? settings.certificates } }

  /// Returns the server for new items.
  /// - Parameter store: The queue, which knows how a server was reached before.
  func server(_ store: QueueStore) throws -> S3Endpoint { try server(namedEndpoint, store) }

  /// A Boolean value that indicates whether the user names a server, by the option or in the settings of AWS's tools.
  var namesServer: Bool { get throws { try namedEndpoint != nil } }

  /// Returns the server whose items are uploaded: the one that the user names, or that they were queued for.
  /// - Parameter choice: Returns `true` for the URL of a server that may be taken where there are several; `nil` to fail
  ///   then.
  /// - Throws: ``Failure`` if items were queued for several servers and the user names none.
  func serverInUse(_ store: QueueStore, choice: ((String) -> Bool)? = nil) throws -> S3Endpoint {
    if let namedEndpoint = try namedEndpoint { return try server(namedEndpoint, store) }
    let all = try store.serversInUse()
    let known = choice.map { all.filter($0) } ?? all
    guard known.count <= 1 || choice != nil else {
      throw Failure(
        "items wait for several servers: \(known.joined(separator: ", "))",
        hint: "name one with --endpoint; `edgeblue uploads move` moves items to another one",
        status: .badInput)
    }
    if let first = known.first { return try server(first, store) }
    let others = try store.otherServersInUse().filter { choice?($0) ?? true }
    return try server(others.count == 1 || choice != nil ? others.first : nil, store)
  }

  /// Returns a server.
  /// - Parameter url: The URL of the server; `nil` for AWS.
  func server(_ url: String?, _ store: QueueStore) throws -> S3Endpoint {
    let settings = try settings
    let named = region ?? settings.region
    let addressing = addressing ?? settings.addressing
    guard let url else {
      let region = named ?? "us-east-1"
      return try S3Endpoint(
        "https://s3.\(region).amazonaws.com", region: region, addressing: addressing ?? .virtualHost)
    }
    let plain = try S3Endpoint(url, region: named ?? "us-east-1", addressing: addressing ?? .path)
    guard let known = try store.servers().first(where: { $0.endpoint == plain.url }) else { return plain }
    return try S3Endpoint(url, region: named ?? known.region, addressing: addressing ?? known.addressing)
  }

  /// Returns a client of a server.
  func client(of server: S3Endpoint) throws -> S3Client {
    S3Client(server, transport: AnnouncingTransport(try S3HTTPTransport(certificates: certificates)))
  }

  /// Returns the source of the account's credentials.
  func provider() throws -> any CredentialsProvider {
    if let tokenService, let tokenPath {
      return try TokenServiceCredentials(url: tokenService, transport: try S3HTTPTransport(certificates: certificates))
      {
        do { return try SecretText.line(of: tokenPath) } catch {
          throw UploadsError(.noCredentials, Failure(error).message)
        }
      }
    }
    let settings = try settings
    let file = Secret.s3.file(credentials, environment)
    let isProfileNamed = profile != nil
    if let read = file ?? settings.sharedFile(isProfileNamed: isProfileNamed) { SecretText.warnIfReadable(read) }
    return settings.credentials(in: file, isProfileNamed: isProfileNamed)
  }

  /// Returns a queue with these options.
  /// - Parameters:
  ///   - store: the items of the queue.
  ///   - server: the server whose items are uploaded.
  ///   - concurrency: the number of concurrent uploads.
  ///   - waitsForLock: `true` to wait while another process uploads the queue, `false` to fail.
  ///   - disk: the policy of the disk that contains the files.
  func queue(
    _ store: QueueStore, at server: S3Endpoint, concurrency: Int = 3, waitsForLock: Bool = true,
    disk: (any DiskPolicy)? = nil
  ) throws -> UploadQueue {
    var options = UploadQueue.Options()
    options.concurrency = concurrency
    options.waitsForLock = waitsForLock
    return UploadQueue(
      store, client: try client(of: server), accounts: [account: try provider()], options: options, disk: disk)
  }
}
