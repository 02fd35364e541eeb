import MessageSending
import Testing

@Suite("Sealed messages")
struct SealedMessageTests {
  @Test("Only 773 bytes are a sealed message", arguments: [0, 772, 774])
  func size(count: Int) throws {
    let error = #expect(throws: MessageSendingError.self) {
      try SealedMessage(bytes: [UInt8](repeating: 1, count: count))
    }
    #expect(error?.code == .invalidArgument)
    let bytes = [UInt8](repeating: 1, count: SealedMessage.byteCount)
    #expect(try SealedMessage(bytes: bytes).bytes == bytes)
  }

  @Test("Secret bytes are taken from an array, which is zeroed")
  func taking() throws {
    var bytes: [UInt8] = [1, 2, 3]
    let secret = try SecretBytes(taking: &bytes)
    #expect(bytes == [0, 0, 0])
    #expect(secret.withBytes { Array($0) } == [1, 2, 3])
    #expect("\(secret)" == "3 secret bytes")
  }
}
