internal import AsyncHTTPClient
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The reason why a request has no response, from the many errors of SwiftNIO and AsyncHTTPClient.
///
/// In the first five cases the server has certainly not received the request.
public enum ConnectionFailure: Error, Sendable, Hashable {
  /// The host name has no address.
  case unknownHost
  /// No server accepts connections at the address; with the error number, if there is one.
  case noServer(errno: Int32?)
  /// No trusted connection was established over TLS.
  case untrusted(TLSFailure)
  /// The connection was not established within its timeout.
  case timedOut
  /// The proxy does not connect to the server, or a variable names no proxy; with the reason for display.
  case noProxy(String)
  /// The body of the response exceeds the limit of the caller.
  case tooLong
  /// The bytes that the server sent are not HTTP.
  case notHTTP
  /// The connection was lost; with the reason for display, in words that are no library's.
  case interrupted(String)

  /// Classifies an error of a request.
  public init(_ error: any Error) {
    self =
      switch error {
      case let error as UnusableProxy: .noProxy(error.description)
      case let error as NIOConnectionError:
        error.dnsAError == nil && error.dnsAAAAError == nil ? .noServer(errno: nil) : .unknownHost
      case let error as IOError where [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode):
        .noServer(errno: error.errnoCode)
      case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .untrusted(TLSFailure(error))
      case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout: .timedOut
      case let error as ProxySettings.InvalidProxy: .noProxy(error.description)
      case is NIOTooManyBytesError, is ResponseAccumulator.ResponseTooBigError: .tooLong
      case let error as HTTPParserError where error != .invalidEOFState: .notHTTP
      default: .interrupted(Self.words(for: error))
      }
  }

  /// Returns the reason why a connection was lost; never the error itself: that of an invalid header contains its value,
  /// such as a token, and others contain paths of the machine that the program was built on.
  private static func words(for error: any Error) -> String {
    switch error {
    case let error as IOError: String(cString: strerror(error.errnoCode)).lowercased()
    case let error as HTTPClientError where error == .remoteConnectionClosed: "the server closed it"
    case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout: "it took too long"
    case is HTTPParserError: "the response is truncated"
    default: "the exchange of a request failed"
    }
  }
}
