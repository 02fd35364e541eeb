import ArgumentParser
import Foundation
import Logging
import Uploads
import UploadsHTTP

/// The options for the S3 server, and the credentials for it.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The URL of the server, such as http://127.0.0.1:8333. Default: AWS in the region.", valueName: "url"))
  var endpoint: String?
  @Option(help: ArgumentHelp("The region for which requests are signed.", valueName: "name"))
  var region = "us-east-1"
  @Option(
    help: ArgumentHelp(
      "The position of the bucket in URLs: path or virtual-host. Default: virtual-host for AWS, path for other servers.",
      valueName: "style"),
    transform: { text in
      guard let style = S3Endpoint.Addressing(rawValue: text) else {
        throw ValidationError("--addressing is '\(text)'; allowed: path, virtual-host.")
      }
      return style
    })
  var addressing: S3Endpoint.Addressing?
  @Option(help: ArgumentHelp("A PEM file with certificates to trust in addition to the system's.", valueName: "file"))
  var ca: String?
  @Option(
    help: ArgumentHelp(
      "The account. An item is uploaded only with the credentials of the account that queued it.",
      valueName: "name"))
  var account = "default"
  @Option(
    help: ArgumentHelp(
      "A credentials file in the format of AWS. Default: AWS_ACCESS_KEY_ID and related variables, the systemd "
        + "credential s3, or ~/.aws/credentials.", valueName: "file"))
  var credentials: String?
  @Option(help: ArgumentHelp("The section of the credentials file.", valueName: "name"))
  var profile = "default"
  @Option(help: ArgumentHelp("The URL of a service that returns temporary credentials for a token.", valueName: "url"))
  var tokenService: String?
  @Option(
    help: ArgumentHelp("The file with the token for the token service; it is read for each request.", valueName: "file")
  )
  var tokenFile: String?

  func validate() throws {
    guard (tokenService == nil) == (tokenFile == nil) else {
      throw ValidationError("--token-service and --token-file require each other.")
    }
  }

  /// Returns a client of the server.
  func client() throws -> S3Client {
    let server =
      if let endpoint {
        try S3Endpoint(endpoint, region: region, addressing: addressing ?? .path)
      } else {
        try S3Endpoint(
          "https://s3.\(region).amazonaws.com", region: region, addressing: addressing ?? .virtualHost)
      }
    return S3Client(server, transport: try S3HTTPTransport(certificates: ca))
  }

  /// Returns the source of the account's credentials.
  func provider() throws -> any CredentialsProvider {
    if let tokenService, let tokenFile {
      return try TokenServiceCredentials(url: tokenService, transport: try S3HTTPTransport(certificates: ca)) {
        guard let token = SystemFiles.line(of: tokenFile) else {
          throw UploadsError(.noCredentials, "read the token from \(tokenFile): missing or empty")
        }
        return token
      }
    }
    if let credentials { return FileCredentials(path: credentials, profile: profile) }
    let environment = ProcessInfo.processInfo.environment
    let variables = EnvironmentCredentials(environment)
    guard !variables.isSet, let path = FileCredentials.defaultPath(environment: environment) else { return variables }
    return FileCredentials(path: path, profile: environment["AWS_PROFILE"] ?? profile)
  }

  /// Returns a queue with these options.
  /// - Parameters:
  ///   - store: the items of the queue.
  ///   - concurrency: the number of concurrent uploads.
  ///   - waitsForLock: `true` to wait while another process uploads the queue, `false` to fail.
  ///   - disk: the policy of the disk that contains the files.
  func queue(
    _ store: QueueStore, concurrency: Int = 3, waitsForLock: Bool = true, disk: (any DiskPolicy)? = nil
  ) throws -> UploadQueue {
    var options = UploadQueue.Options()
    options.concurrency = concurrency
    options.waitsForLock = waitsForLock
    return UploadQueue(
      store, client: try client(), accounts: [account: try provider()], options: options, disk: disk)
  }
}
