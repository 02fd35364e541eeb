import Foundation
import SpeedTest
import SpeedTestNIO

/// The server of a speed test and the size of the test, as a loop keeps them. It has the paths of secrets, and none of
/// them itself.
struct SpeedTestSettings: Codable, Hashable, Sendable {
  /// The origin of the measurement server.
  enum Source: Codable, Hashable, Sendable {
    /// The user names the measurement server.
    case server(host: String, port: Int)
    /// A control server names a measurement server for each test, and takes the results.
    case control(url: String, runsQoS: Bool)
  }

  var source: Source
  /// The number of connections; `nil` for the default or what a control server names.
  var threads: Int?
  /// The duration of each direction in seconds; `nil` for the default or what a control server names.
  var seconds: Int?
  var includesUpload = true
  var isTLS = false
  var certificates: String?
  var acceptsAnyCertificate = false
  var usesHTTPUpgrade = false
  var keyFile: String?
  var tokenForm = SpeedTestTokenForm.v1.rawValue

  init(_ source: Source) { self.source = source }

  /// The server that the user has named, in the form that a user writes.
  var server: String {
    switch source {
    case .server(let host, let port): ServerAddress(host: host, port: port).text
    case .control(let url, _): url
    }
  }

  /// The server that grants each test; `nil` if the user has named the measurement server.
  /// - Throws: An error for certificates that cannot be read, and for an address that is none.
  func controlServer(_ folder: SpeedTestFolder) throws -> ControlServer? {
    guard case .control(let url, _) = source else { return nil }
    let (client, transport) = try ControlClient.ofThisMachine(url, certificates: certificates, folder: folder.path)
    return ControlServer(client: client, transport: transport, outbox: folder.outbox)
  }

  /// Checks what a test reads before it begins: keys and certificates.
  func check(_ folder: SpeedTestFolder) throws {
    switch source {
    case .server(let host, let port): _ = try client(host, port)
    case .control: _ = try controlServer(folder)
    }
  }

  /// Returns a test of the server that the user has named, or of the one that a control server has granted.
  func prepared(_ granted: ControlledTest?) throws -> PreparedTest {
    switch (source, granted) {
    case (.control, let granted?):
      return PreparedTest(
        client: client(of: granted.test), plan: try SpeedTestPlan(granted.test, threads: threads, seconds: seconds),
        server: granted.server, granted: granted)
    case (.server(let host, let port), _):
      let plan = try SpeedTestPlan(threads: threads ?? 3, seconds: seconds ?? 7, includesUpload: includesUpload)
      return PreparedTest(client: try client(host, port), plan: plan, server: server, granted: nil)
    case (.control(let url, _), nil):
      throw SpeedTestError(.declined, "the control server \(url) has granted no test")
    }
  }

  /// Returns a client; it reads the key.
  private func client(_ host: String, _ port: Int) throws -> SpeedTestClient {
    let keyPath = Secret.speedTestKeys.file(keyFile, ProcessInfo.processInfo.environment)
    if let keyPath { SecretText.warnIfReadable(keyPath) }
    var client = SpeedTestClient(
      host: host, port: port, key: try keyPath.map { try SpeedTestKey.keys(inFile: $0)[0] })
    client.tokenForm = SpeedTestTokenForm(rawValue: tokenForm) ?? .v1
    client.usesHTTPUpgrade = usesHTTPUpgrade
    if isTLS { client.transport = acceptsAnyCertificate ? .unverifiedTLS : .tls(certificates: certificates) }
    return client
  }

  /// Returns a client of a granted server; options of the user take precedence over what the control server has named.
  private func client(of test: ControlTest) -> SpeedTestClient {
    var client = SpeedTestClient(test)
    if usesHTTPUpgrade { client.usesHTTPUpgrade = true }
    if isTLS || test.isEncrypted {
      client.transport = acceptsAnyCertificate ? .unverifiedTLS : .tls(certificates: certificates)
    }
    return client
  }
}

/// A test that can begin.
struct PreparedTest: Sendable {
  let client: SpeedTestClient
  let plan: SpeedTestPlan
  /// The measurement server in the form that a user writes.
  let server: String
  /// The test at the control server; `nil` without one.
  let granted: ControlledTest?
}

extension ControlClient {
  /// Creates a client of a control server, with the description of this machine.
  /// - Parameters:
  ///   - address: The address of the server.
  ///   - certificates: A PEM file with certificates to trust besides the system's.
  ///   - folder: A folder that exists, for what the server assigns.
  /// - Throws: An error for certificates that cannot be read, and for an address that is none.
  static func ofThisMachine(
    _ address: String, certificates: String?, folder: String
  ) throws -> (client: ControlClient, transport: ControlHTTPTransport) {
    let device = ControlDevice.system
    let transport = try ControlHTTPTransport(certificates: certificates, language: device.language)
    return (try ControlClient(address: address, transport: transport, device: device, folder: folder), transport)
  }
}
