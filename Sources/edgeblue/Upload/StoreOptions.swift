import ArgumentParser
import Foundation
import Logging
import Uploads
import UploadsHTTP

/// Which server things are uploaded to, and as whom.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server, such as http://127.0.0.1:8333; without it, AWS in the region.", valueName: "url"))
  var endpoint: String?
  @Option(help: ArgumentHelp("The region requests are signed for.", valueName: "name"))
  var region = "us-east-1"
  @Option(
    help: ArgumentHelp(
      "Where a bucket's name stands in an address: path or virtual-host. Without it, virtual-host for AWS and path for "
        + "others.", valueName: "style"),
    transform: { text in
      guard let style = S3Endpoint.Addressing(rawValue: text) else {
        throw ValidationError("There is no style '\(text)': path or virtual-host.")
      }
      return style
    })
  var addressing: S3Endpoint.Addressing?
  @Option(help: ArgumentHelp("A PEM file with certificates to trust besides the system's.", valueName: "file"))
  var ca: String?
  @Option(
    help: ArgumentHelp(
      "In whose name. An item is only ever uploaded with the credentials of the account it was queued for.",
      valueName: "name"))
  var account = "default"
  @Option(
    help: ArgumentHelp(
      "A file with credentials as AWS's tools write them. Without it: AWS_ACCESS_KEY_ID and so on, the credential s3 "
        + "that systemd loaded, or ~/.aws/credentials.", valueName: "file"))
  var credentials: String?
  @Option(help: ArgumentHelp("Which section of that file.", valueName: "name"))
  var profile = "default"
  @Option(help: ArgumentHelp("A service that gives temporary credentials for a token.", valueName: "url"))
  var tokenService: String?
  @Option(help: ArgumentHelp("The file with the token for it, read anew each time.", valueName: "file"))
  var tokenFile: String?

  func validate() throws {
    guard (tokenService == nil) == (tokenFile == nil) else {
      throw ValidationError("--token-service and --token-file go together.")
    }
  }

  /// A client of the server.
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

  /// Where the account's credentials come from.
  func provider() throws -> any CredentialsProvider {
    if let tokenService, let tokenFile {
      return try TokenServiceCredentials(url: tokenService, transport: try S3HTTPTransport(certificates: ca)) {
        guard let token = SystemFiles.line(of: tokenFile) else {
          throw UploadsError(.noCredentials, "the token in \(tokenFile) cannot be read")
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

  /// A queue with what these options say.
  /// - Parameters:
  ///   - store: its items.
  ///   - concurrency: how many are uploaded at once.
  ///   - waitsForLock: whether it goes on when another program that uploads it ends, instead of failing.
  ///   - disk: who answers for the disk that files lie on.
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
