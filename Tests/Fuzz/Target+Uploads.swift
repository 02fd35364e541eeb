import Foundation

@testable import SpeedTest
@testable import Uploads

extension Target {
  static let uploads = [
    Target(
      "s3-xml",
      texts: [
        "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>a &amp; b</Message></Error>",
        "<L xmlns='x'><!-- c --><Contents><Key><![CDATA[k]]></Key><Size>4</Size></Contents><a/></L>",
      ]
    ) { bytes in
      let request = S3Request("GET", scheme: "https", authority: "example.com", path: "/a")
      for status in [200, 403, 503] { _ = UploadsError(S3Response(status: status, body: Data(bytes)), to: request) }
      _ = XMLElement(Data(bytes))
      _ = S3Client.milliseconds(String(decoding: bytes, as: UTF8.self))
    },
    Target("manifest", texts: [#"{"key":"a","size":3}"# + "\n" + #"{"key":"b"}"# + "\nother\n"]) { bytes in
      let manifest = Manifest(Data(bytes))
      require(Manifest(manifest.data).data == manifest.data, "written and read it is another manifest")
    },
    Target("s3-credentials", texts: ["[default]\naws_access_key_id = A\naws_secret_access_key=b # c\n[other]\n"]) {
      bytes in
      _ = AWSFile.section(["default"], of: String(decoding: bytes, as: UTF8.self))
    },
    Target("s3-endpoint", texts: ["https://example.com:9000", "bucket-name", "a/b/c"]) { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      try? S3Endpoint.check(bucket: text)
      try? S3Endpoint.check(key: text)
      try? S3Endpoint.check(region: text)
      _ = try S3Endpoint(text)
    },
  ]

  static let speedTest = [
    Target("speedtest-client", texts: ["PONG\nTIME 5\n", "RMBTv1.3.5\nACCEPT TOKEN QUIT\nOK\n"], take: client),
    Target(
      "speedtest-server", texts: ["GETCHUNKS 1 4096\nOK\n", "PUT\n", "GET /rmbt HTTP/1.1\r\nUpgrade: RMBT\r\n\r\n"],
      take: server),
    Target("speedtest-token", texts: [token(.v1), token(.v2), token(.combined)]) { bytes in
      let verdict = SpeedTestToken.verify(
        String(decoding: bytes, as: UTF8.self), keys: [try key()], seconds: 1_900_000_000, address: [])
      require(verdict == .rejected, "an old token is accepted")
    },
    Target("speedtest-tls-hello", seeds: [hello(session: 0), hello(session: 32), Array(hello(session: 8).dropLast(6))])
    {
      bytes in
      var whole = TLSServerHello()
      whole.receive(bytes)
      var parts = TLSServerHello()
      for start in stride(from: 0, to: bytes.count, by: 3) { parts.receive(bytes[start...].prefix(3)) }
      require(whole.cipher == parts.cipher, "the cipher depends on how the bytes are cut")
      require((whole.cipher == nil) == (whole.cipherName == nil), "a cipher without a name")
    },
  ]

  /// The Server Hello of TLS 1.2 or 1.3 with a session identifier, and the beginning of what follows it.
  private static func hello(session: UInt8) -> [UInt8] {
    let random = [UInt8](repeating: 7, count: 32)
    let identifier = [session] + [UInt8](repeating: 9, count: Int(session))
    let body = [3, 3] + random + identifier + [0x13, 0x01, 0, 0, 6, 0, 0x2b, 0, 2, 3, 4]
    return [22, 3, 3, 0, UInt8(body.count + 4), 2, 0, 0, UInt8(body.count)] + body + [20, 3, 3, 0, 1, 1]
  }

  private static func key() throws -> SpeedTestKey { try SpeedTestKey("topsecret") }

  private static func token(_ form: SpeedTestTokenForm) -> String {
    SpeedTestToken.make(form, key: try! key(), uuid: UUID(), seconds: 1_700_000_000, address: [])
  }

  private static let accept = "ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT\n"

  private static func client(_ bytes: [UInt8]) throws {
    var input = Input(bytes)
    var connection = ClientConnection(token: "t", at: .zero)
    let isReady = input.byte() & 1 == 0
    if isReady {
      for line in ["RMBTv1.3.5\nACCEPT TOKEN QUIT\n", "OK\nCHUNKSIZE 4096 4096 4194304\n", accept] {
        _ = try Array(line.utf8).withUnsafeBytes { bytes throws(SpeedTestError) in
          try connection.receive(bytes, at: .zero)
        }
      }
    }
    var now = Duration.zero
    while !input.isEmpty {
      now += .milliseconds(10)
      if connection.isIdle {
        let exchanges: [Exchange] = [
          .ping, .getChunks(2, size: 4096), .put(seconds: 1, size: 4096), .putNoResult(1, size: 4096),
        ]
        _ = try connection.start(exchanges[Int(input.byte()) % exchanges.count], at: now)
      }
      _ = try input.piece().withUnsafeBytes { bytes throws(SpeedTestError) in try connection.receive(bytes, at: now) }
      _ = connection.nextPayload(at: now)
      if connection.skippable > 0, input.byte() & 1 == 0 { connection.skip(connection.skippable, at: now) }
    }
    _ = try connection.timeOut(at: now + .seconds(100))
  }

  private static func server(_ bytes: [UInt8]) throws {
    var input = Input(bytes)
    var connection = ServerConnection(at: .zero)
    if input.byte() & 1 == 0 {
      _ = Array("TOKEN t\n".utf8).withUnsafeBytes { connection.receive($0, at: .zero) }
      _ = connection.tokenVerified(.accepted(delay: .zero), at: .zero)
    }
    var now = Duration.zero
    while !input.isEmpty {
      now += .milliseconds(10)
      for action in input.piece().withUnsafeBytes({ connection.receive($0, at: now) }) {
        if case .verify = action { _ = connection.tokenVerified(.accepted(delay: .zero), at: now) }
      }
      if let payload = connection.nextPayload(at: now) {
        require(payload.bytes <= RMBT.chunkSizes.upperBound, "a payload of \(payload.bytes) bytes")
      }
      _ = connection.resume(at: now)
      if connection.skippable > 0, input.byte() & 1 == 0 { _ = connection.skip(connection.skippable, at: now) }
    }
    _ = connection.timeOut(at: now + .seconds(100))
  }
}
