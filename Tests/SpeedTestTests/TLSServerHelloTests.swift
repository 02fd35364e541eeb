import DeterministicTesting
import Testing

@testable import SpeedTest

@Suite("The first message of a TLS server") struct TLSServerHelloTests {
  private static func hello(_ cipher: UInt16, session: Int) -> [UInt8] {
    let random = [UInt8](repeating: 7, count: 32)
    let body = [3, 3] + random + [UInt8(session)] + [UInt8](repeating: 9, count: session)
    let end: [UInt8] = [UInt8(cipher >> 8), UInt8(truncatingIfNeeded: cipher), 0, 0, 0]
    let message = [2, 0, 0, UInt8(body.count + end.count)] + body + end
    return [22, 3, 3, 0, UInt8(message.count)] + message
  }

  @Test(
    "The cipher is read however the bytes are cut",
    arguments: [
      (0x1301, 32, "TLS_AES_128_GCM_SHA256"), (0xc030, 0, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"), (0x2f, 8, "0x002F"),
    ] as [(UInt16, Int, String)])
  func cipher(cipher: UInt16, session: Int, name: String) {
    let bytes = Self.hello(cipher, session: session)
    for size in [1, 2, 7, 43, 1000] {
      var reader = TLSServerHello()
      for start in stride(from: 0, to: bytes.count, by: size) { reader.receive(bytes[start...].prefix(size)) }
      #expect(reader.cipher == cipher)
      #expect(reader.cipherName == name)
    }
  }

  @Test("Other bytes name no cipher") func others() {
    var alert = TLSServerHello()
    alert.receive([21, 3, 3, 0, 2, 2, 40] + [UInt8](repeating: 0, count: 100))
    #expect(alert.cipher == nil)
    var other = TLSServerHello()
    other.receive([22, 3, 3, 0, 80, 1] + [UInt8](repeating: 0, count: 100))
    #expect(other.cipherName == nil)
    var long = TLSServerHello()
    long.receive(Self.hello(0x1301, session: 0).prefix(43) + [33] + [UInt8](repeating: 0, count: 100))
    #expect(long.cipher == nil)
  }

  @Test("Bytes that nobody meant make no trap") func anything() {
    var random = SeededGenerator(seed: 31)
    for _ in 0..<5000 {
      var bytes = Self.hello(0x1302, session: 32)
      for _ in 0..<3 { bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random) }
      var reader = TLSServerHello()
      while !bytes.isEmpty {
        let count = Int.random(in: 1...bytes.count, using: &random)
        reader.receive(bytes.prefix(count))
        bytes.removeFirst(count)
      }
      if let name = reader.cipherName { #expect(!name.isEmpty) }
    }
  }
}
