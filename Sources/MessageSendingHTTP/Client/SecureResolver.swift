internal import AsyncHTTPClient
internal import MessageSending
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import OutgoingHTTP

/// A resolver of host names that asks a server over HTTPS (RFC 8484), so that the network does not see the question.
struct SecureResolver {
  private let url: String
  /// The timeout of one question: 15 s.
  private static let limit = TimeAmount.seconds(15)
  /// The largest answer: 64 KiB, as in the protocol.
  private static let answerLimit = 64 << 10

  init(_ url: String) throws(MessageSendingError) {
    let address = try ServerAddress(url)
    guard address.isSecure || address.isLoopback else {
      throw MessageSendingError(.invalidArgument, "the resolver's URL is \(url); required: https")
    }
    self.url = url
  }

  /// Returns an address of a host: the first one of version 4, or of version 6 if there is none.
  /// - Throws: `MessageSendingError` with code `.notSent`; the system's resolver is never asked instead.
  func address(of host: String) async throws -> String {
    // Not the environment's proxies: nobody else is to learn the name. HTTP/2 is the only version of some resolvers.
    let configuration = HTTPClient.Configuration(
      tlsConfiguration: TLSRules.client(), redirectConfiguration: .disallow)
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let found: Result<String, any Error>
    do { found = .success(try await address(of: host, by: client)) } catch { found = .failure(error) }
    // In a task of its own: this one may be cancelled.
    try await Task { try await client.shutdown() }.value
    return try found.get()
  }

  private func address(of host: String, by client: HTTPClient) async throws -> String {
    for type in [DNSMessage.RecordType.address4, .address6] {
      guard let question = DNSMessage.question(host, type) else { break }
      let answer: ByteBuffer
      do {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = ["Accept": "application/dns-message", "Content-Type": "application/dns-message"]
        request.headers.add(name: "Connection", value: "close")
        request.body = .bytes(ByteBuffer(bytes: question))
        let response = try await client.execute(request, deadline: .now() + Self.limit)
        answer = try await response.body.collect(upTo: Self.answerLimit)
        guard response.status == .ok else {
          throw MessageSendingError(.notSent, "the resolver responded with status \(response.status.code)")
        }
      } catch let error as MessageSendingError {
        throw error
      } catch {
        try Task.checkCancellation()
        throw MessageSendingError(.notSent, "ask the resolver at \(url): no answer")
      }
      if let address = DNSMessage.address(in: Array(answer.readableBytesView), type) { return address }
    }
    throw MessageSendingError(.notSent, "the resolver found no address of \(host)")
  }
}
