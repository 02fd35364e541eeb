internal import NIOSSL
internal import SpeedTest

/// The transport of a client's connections: plain TCP, or TLS.
public enum SpeedTestTransport: Sendable, Hashable {
  /// TCP without encryption or authentication.
  case plain
  /// TLS 1.2 or later; the server's certificate must be valid for its name.
  ///
  /// The certificates in the PEM file `certificates` are trusted besides the system's.
  case tls(certificates: String?)
  /// TLS 1.2 or later with any certificate: it hides the payload from observers, and proves nothing about the server.
  case unverifiedTLS

  /// Returns the TLS settings; `nil` for plain TCP.
  func context() throws(SpeedTestError) -> NIOSSLContext? {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    do {
      switch self {
      case .plain: return nil
      case .tls(let certificates):
        if let certificates {
          configuration.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(certificates))]
        }
      case .unverifiedTLS: configuration.certificateVerification = .none
      }
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw SpeedTestError(.invalidArgument, "read the certificates to trust: \(error)")
    }
  }
}

/// The certificate of a server and its private key, as paths of PEM files.
public struct SpeedTestCertificate: Sendable, Hashable {
  /// The path of the certificate, followed by those that signed it.
  public var certificate: String
  /// The path of the private key.
  public var privateKey: String

  /// Creates a pair of paths; the files are read when the server starts.
  public init(certificate: String, privateKey: String) {
    self.certificate = certificate
    self.privateKey = privateKey
  }

  func context() throws(SpeedTestError) -> NIOSSLContext {
    do {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: privateKey, format: .pem)))
      configuration.minimumTLSVersion = .tlsv12
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw SpeedTestError(.invalidArgument, "read the certificate \(certificate) and its key: \(error)")
    }
  }
}
