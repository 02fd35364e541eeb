package import NIOSSL

/// The versions of TLS that all clients accept.
///
/// TLS 1.0 and 1.1 are deprecated (RFC 8996): their handshakes rest on MD5 and SHA-1.
package enum TLSRules {
  /// Returns the settings of a client, with the certificates of the system.
  package static func client() -> TLSConfiguration {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    return configuration
  }
}
