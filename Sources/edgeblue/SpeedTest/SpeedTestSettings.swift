import Foundation
import SpeedTest
import SpeedTestNIO

/// The server of a speed test and the size of the test, as a loop keeps them. It has the paths of secrets, and none of
/// them itself.
struct SpeedTestSettings: Codable, Hashable, Sendable {
  var host: String
  var port: Int
  var threads = 3
  var seconds = 7
  var includesUpload = true
  var isTLS = false
  var certificates: String?
  var acceptsAnyCertificate = false
  var usesHTTPUpgrade = false
  var keyFile: String?
  var tokenForm = SpeedTestTokenForm.v1.rawValue

  /// The server in the form that a user writes.
  var server: String { ServerAddress(host: host, port: port).text }

  func plan() throws -> SpeedTestPlan {
    try SpeedTestPlan(threads: threads, seconds: seconds, includesUpload: includesUpload)
  }

  /// Returns a client; it reads the key.
  func client() throws -> SpeedTestClient {
    let keyPath = Secret.speedTestKeys.file(keyFile, ProcessInfo.processInfo.environment)
    if let keyPath { SecretText.warnIfReadable(keyPath) }
    var client = SpeedTestClient(
      host: host, port: port, key: try keyPath.map { try SpeedTestKey.keys(inFile: $0)[0] })
    client.tokenForm = SpeedTestTokenForm(rawValue: tokenForm) ?? .v1
    client.usesHTTPUpgrade = usesHTTPUpgrade
    if isTLS { client.transport = acceptsAnyCertificate ? .unverifiedTLS : .tls(certificates: certificates) }
    return client
  }
}
