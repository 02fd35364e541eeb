internal import OutgoingHTTP
internal import SpeedTest

extension OutgoingHTTPClient {
  /// Creates the client of control servers and of QoS tests, which uses no proxy: a control server binds tokens to the
  /// address that the request comes from, and a test through a proxy would measure the proxy.
  /// - Parameter certificates: The path of a PEM file with certificates to trust besides the system's; `nil` for none.
  /// - Throws: `SpeedTestError` with code `.invalidArgument` if the file contains no certificates.
  static func direct(certificates: String?) throws(SpeedTestError) -> OutgoingHTTPClient {
    var connections = Connections()
    connections.proxies = .none
    do throws(UnreadableCertificates) {
      return try OutgoingHTTPClient(
        connectTimeout: .seconds(10), certificates: certificates, connections: connections)
    } catch {
      throw SpeedTestError(.invalidArgument, "read the certificates in \(error.path): \(error)")
    }
  }
}
