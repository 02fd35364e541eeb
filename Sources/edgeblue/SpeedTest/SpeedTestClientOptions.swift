import ArgumentParser
import Foundation
import SpeedTest

/// The options that name a server and the size of a test.
struct SpeedTestClientOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server: HOST or HOST:PORT. Default port: \(SpeedTestCommand.defaultPort).", valueName: "server"))
  var server: ServerAddress?
  @Option(help: ArgumentHelp("The number of connections, 1 to 120. Default: 3.", valueName: "n"))
  var threads: Int?
  @Option(help: ArgumentHelp("The duration of each direction, 1 to 30 s. Default: 7 s.", valueName: "s"))
  var seconds: Int?
  @Flag(help: "Leave out the upload.")
  var noUpload = false
  @Flag(help: "Use TLS, and verify the server's certificate.")
  var tls = false
  @Option(
    help: ArgumentHelp("A PEM file with certificates to trust besides the system's; with --tls.", valueName: "file"),
    completion: .file())
  var ca: String?
  @Flag(help: "Accept any certificate; with --tls. With --control, also permit plain http to the control server.")
  var insecure = false
  @Flag(help: "Begin with an HTTP upgrade, as servers of the type RMBThttp require.")
  var http = false
  @Option(
    help: ArgumentHelp(
      "A file with the key that is shared with the server, on its first line. Default: the systemd credential "
        + "speedtest-keys; without it only open servers answer.", valueName: "file"), completion: .file())
  var keyFile: String?
  @Option(
    help: ArgumentHelp(
      "The form of the token: v1, v2 (bound to this machine's address) or combined. Default: v1.", valueName: "form"),
    completion: .words(SpeedTestTokenForm.self), transform: named)
  var token: SpeedTestTokenForm?

  func validate() throws {
    if let threads, !SpeedTestPlan.allowedThreads.contains(threads) {
      throw ValidationError("--threads: allowed are 1 to 120.")
    }
    if let seconds, !SpeedTestPlan.allowedSeconds.contains(seconds) {
      throw ValidationError("--seconds: allowed are 1 to 30 s.")
    }
    guard ca == nil || !insecure else { throw ValidationError("--ca and --insecure exclude each other.") }
  }

  /// Checks that the options of TLS are for a server with TLS.
  func checkTLS() throws {
    guard tls || ca == nil && !insecure else { throw ValidationError("--ca and --insecure need --tls.") }
  }

  /// Returns the settings of a test of this source.
  func settings(_ source: SpeedTestSettings.Source) -> SpeedTestSettings {
    var settings = SpeedTestSettings(source)
    settings.threads = threads
    settings.seconds = seconds
    settings.includesUpload = !noUpload
    settings.isTLS = tls
    settings.certificates = ca.map(Self.absolute)
    settings.acceptsAnyCertificate = insecure
    settings.usesHTTPUpgrade = http
    settings.keyFile = keyFile.map(Self.absolute)
    settings.tokenForm = (token ?? .v1).rawValue
    return settings
  }

  /// A Boolean value that indicates whether the user has given any of the options.
  var isAnyGiven: Bool {
    server != nil || threads != nil || seconds != nil || noUpload || tls || ca != nil || insecure || http
      || keyFile != nil || token != nil
  }

  /// A loop that is continued has another working folder.
  private static func absolute(_ path: String) -> String { URL(filePath: path).path }
}
