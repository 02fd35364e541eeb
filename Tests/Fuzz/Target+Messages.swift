import Foundation

@testable import MessageSending

#if canImport(MessageSendingHTTP)
  @testable import MessageSendingHTTP
  import NIOCore
  import NIOEmbedded
  import NIOHTTP1
#endif

extension Target {
  static let messages =
    [
      Target("message-queue", seeds: [queue]) { bytes in
        _ = try? QueueContents(fileBytes: bytes)
        _ = try QueueContents(fileBytes: Sodium.sha256(bytes) + bytes)
      },
      Target("message-vault", seeds: [try! VaultContents().bytes().withBytes { Array($0) }], take: vault),
      Target(
        "message-keys",
        texts: [
          #"{"type":"edgeblue-message-keys","version":1,"issued":1,"expires":9000000000,"nodes":[],"recipients":[{}]}"#
        ], take: keys),
      Target("message-text", seeds: [try! PaddedText.bytes("The quick brown fox jumps over the lazy dog.")]) { bytes in
        _ = try PaddedText.text(bytes)
      },
      Target("message-body", seeds: [[UInt8](repeating: 7, count: SealedMessage.byteCount)]) { bytes in
        _ = try? MessageBody.decode(bytes)
        _ = try opener.open(SealedMessage(bytes: bytes))
      },
      Target("message-record", seeds: [SendingRecord().bytes]) { bytes in _ = try SendingRecord(bytes: bytes) },
      Target("relay-packet", seeds: [RelayPacket.encode(SealedMessage(checked: zeros)), RelayAnswer.refused.bytes]) {
        bytes in
        if let answer = RelayAnswer(bytes: bytes) { require(answer.bytes == bytes, "another answer is written") }
        require(RelayPacket.encode(try RelayPacket.decode(bytes)) == bytes, "another packet is written")
      },
      Target("message-segments", seeds: [[1, 2, 3]]) { bytes in
        var count = 0
        try MessageSegments.read(file("messages-00000001.box", bytes)) { _ in count += 1 }
        require(count == bytes.count / SealedMessage.byteCount, "\(count) messages in \(bytes.count) bytes")
      },
    ] + messagesOverHTTP

  #if canImport(MessageSendingHTTP)
    private static let messagesOverHTTP = [
      Target("dns-answer", seeds: [dnsAnswer]) { bytes in
        _ = DNSMessage.address(in: bytes, .address4)
        _ = DNSMessage.address(in: bytes, .address6)
      },
      Target("server-address", texts: ["https://example.com:8443", "socks5://127.0.0.1:9050", "https://[::1]"]) {
        bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        _ = try? ServerAddress(proxy: text)
        _ = try ServerAddress(text)
      },
      Target(
        "http-reply",
        texts: [
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: x\r\n\r\n{}", "HTTP/1.1 204 No Content\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
        ], take: httpReply),
    ]

    /// The reader of the HTTP client that messages are sent with, after a request like theirs.
    private static func httpReply(_ bytes: [UInt8]) throws {
      let channel = EmbeddedChannel()
      defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
      try channel.pipeline.syncOperations.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
      let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: HTTPMessageTransport.path)
      try channel.writeOutbound(HTTPClientRequestPart.head(head))
      try channel.writeOutbound(HTTPClientRequestPart.end(nil))
      var body = 0
      for start in stride(from: 0, to: bytes.count, by: 61) {
        try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + 61, bytes.count)]))
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
          if case .body(let piece) = part { body += piece.readableBytes }
        }
      }
      require(body <= bytes.count, "\(body) bytes of \(bytes.count)")
    }

    private static let dnsAnswer: [UInt8] =
      [
        0, 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0, 1, 97, 0, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0,
        2, 1,
      ]
  #else
    private static let messagesOverHTTP: [Target] = []
  #endif

  /// A queue without its checksum, which the target puts before the bytes.
  private static let queue: [UInt8] = {
    let item = SealedMessage(checked: [UInt8](repeating: 0, count: SealedMessage.byteCount))
    let layout = QueueLayout.checksummed
    let hint = [UInt8](repeating: 0, count: layout.hintByteCount)
    let count = QueueContents.capacity
    let bytes = layout.bytes(
      items: [SealedMessage](repeating: item, count: count), hints: [[UInt8]](repeating: hint, count: count))
    return Array(bytes.dropFirst(32))
  }()

  private static let zeros = [UInt8](repeating: 0, count: SealedMessage.byteCount)
  private static let node = try! BoxSecretKey()
  private static let opener = MessageOpener(node: node, recipients: ["desk": node])

  private static func vault(_ bytes: [UInt8]) throws {
    var plain = Array(bytes.prefix(VaultContents.byteCount))
    plain += [UInt8](repeating: 0, count: VaultContents.byteCount - plain.count)
    let contents = try VaultContents(SecretBytes(taking: &plain))
    require(contents.hints.count <= VaultContents.hintCapacity, "\(contents.hints.count) hints")
  }

  /// A document, and what a root has signed. The signature is left out: libsodium's, it costs a hundred times the rest.
  private static func keys(_ bytes: [UInt8]) throws {
    _ = try? SignedKeys(bytes)
    try SignedKeys.keys(payload: bytes).check(atMs: 1_000_000)
  }
}
