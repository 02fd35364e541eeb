internal import AsyncHTTPClient
internal import MessageSending
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

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
    for type in [DNSMessage.RecordType.address4, .address6] {
      guard let question = DNSMessage.question(host, type) else { break }
      let answer: ByteBuffer
      do {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = ["Accept": "application/dns-message", "Content-Type": "application/dns-message"]
        request.headers.add(name: "Connection", value: "close")
        request.body = .bytes(ByteBuffer(bytes: question))
        let response = try await HTTPClient.shared.execute(request, deadline: .now() + Self.limit)
        answer = try await response.body.collect(upTo: Self.answerLimit)
        guard response.status == .ok else {
          throw MessageSendingError(.notSent, "the resolver responded with status \(response.status.code)")
        }
      } catch let error as MessageSendingError {
        throw error
      } catch {
        try Task.checkCancellation()
        throw MessageSendingError(.notSent, "ask the resolver at \(url): \(error)")
      }
      if let address = DNSMessage.address(in: Array(answer.readableBytesView), type) { return address }
    }
    throw MessageSendingError(.notSent, "the resolver found no address of \(host)")
  }
}
