internal import AsyncHTTPClient
public import MessageSending
internal import NIOCore
internal import NIOHTTP1

/// A fetcher of recipients' signed keys from the URL at which they are published.
///
/// It goes the way of the messages: through the same proxy or resolver, with the same certificates, and over a connection
/// of its own. What it returns is not trusted before the pinned root key's signature has been checked.
///
/// ```swift
/// import MessageSending
///
/// func newest(_ root: RootKey, atMs now: Int64) async throws -> RecipientKeys {
///   let fetcher = try KeysFetcher("https://collector.example/keys.json")
///   return try SignedKeys(try await fetcher.fetch()).verified(by: root, atMs: now)
/// }
/// ```
public struct KeysFetcher: Sendable {
  private let url: String
  private let exchange: HTTPExchange

  /// Creates a fetcher without connecting.
  /// - Parameters:
  ///   - url: The URL of the document. Plain `http` is for this host and for onion services only.
  ///   - options: The proxy, the resolver and the certificates of the sender.
  /// - Throws: `MessageSendingError` with code `.invalidArgument`.
  public init(
    _ url: String, options: HTTPMessageTransport.Options = HTTPMessageTransport.Options()
  ) throws(MessageSendingError) {
    exchange = try HTTPExchange(url, options)
    self.url = exchange.address.base
  }

  /// Returns the document, at most `SignedKeys.largestByteCount` bytes.
  /// - Throws: `MessageSendingError` with code `.notFetched`; `CancellationError`.
  public func fetch() async throws -> [UInt8] {
    var request = HTTPClientRequest(url: url)
    request.headers = [
      "Host": exchange.address.authority, "User-Agent": HTTPMessageTransport.userAgent, "Accept": "application/json",
      "Connection": "close",
    ]
    do {
      return Array(try await exchange.run(request, bodyLimit: SignedKeys.largestByteCount).readableBytesView)
    } catch let error as MessageSendingError {
      throw MessageSendingError(.notFetched, "fetch the keys: \(error.message)")
    }
  }
}
