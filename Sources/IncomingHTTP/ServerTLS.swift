internal import HummingbirdCore
internal import HummingbirdTLS
package import NIOSSL

/// The certificate of a server and its private key, which HTTP over TLS needs.
package struct ServerTLS: Sendable {
  /// The error of files that hold no certificate and key, with both paths.
  package struct Unreadable: Error {
    /// The reason for display.
    package let words: String
  }

  private let configuration: TLSConfiguration

  /// Reads a certificate and its key from PEM files.
  /// - Parameter files: The paths of the certificate chain and of its private key.
  package init(_ files: (chain: String, key: String)) throws(Unreadable) {
    do {
      let chain = try NIOSSLCertificate.fromPEMFile(files.chain)
      let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
      configuration = Self.configuration(chain, key)
    } catch {
      throw Unreadable(words: "\(files.chain) and \(files.key) are no readable certificate and key")
    }
  }

  /// Returns the settings for a certificate chain and its key.
  ///
  /// TLS 1.0 and 1.1 are deprecated (RFC 8996): their handshakes rest on MD5 and SHA-1.
  package static func configuration(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) -> TLSConfiguration {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    return configuration
  }

  /// Returns a protocol over TLS.
  func securing(_ http: HTTPServerBuilder) throws -> HTTPServerBuilder {
    try .tls(http, tlsConfiguration: configuration)
  }
}
