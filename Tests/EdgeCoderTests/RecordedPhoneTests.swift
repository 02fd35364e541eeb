import BlueZTesting
import Btsnoop
import EdgeCoder
import EdgeCoderTesting
import Testing

/// The same conversation with a phone over the fake, and with the recording of one in the lab. The radio tests have it
/// with both over the air.
@Suite("A recorded phone", .timeLimit(.minutes(5)))
struct RecordedPhoneTests {
  private static let response = EdgeCoderUUIDs.response

  @Test("A phone over the fake answers") func original() async throws {
    let lab = try await FakeBlueZ.start()
    let transport = try await BlueZPhoneTransport.start(on: try await lab.adapter(0), access: .open)
    let phone = PhoneService(transport: transport, engine: EchoEngine())
    let central = try await lab.adapter(1)
    let replies = try await running([phone.run]) { try await PhoneConversation.hold(at: central) }
    #expect(replies == PhoneConversation.replies)
    central.session.close()
    try await transport.stop()
    try await lab.stop()
  }

  @Test("The recording of a phone answers as the phone did") func recorded() async throws {
    #expect(try await replies(of: .ofLab("phone")) == PhoneConversation.replies)
  }

  @Test("A recording with a changed byte of a reply answers otherwise") func changed() async throws {
    let phone = try RecordedDevice.ofLab("phone")
    let other = phone.sending(Self.response) { value in
      for place in value.indices where value[place] == UInt8(ascii: "h") { value[place] = UInt8(ascii: "j") }
    }
    #expect(other != phone)
    #expect(try await replies(of: other) != PhoneConversation.replies)
  }

  @Test("A recording that refuses a request fails the central") func refused() async throws {
    let phone = try RecordedDevice.ofLab("phone")
    let other = phone.refusing(EdgeCoderUUIDs.request, with: ATTError(rawValue: 0x80))
    #expect(other != phone)
    await #expect(throws: InferenceError.self) { try await replies(of: other) }
  }

  private func replies(of phone: RecordedDevice) async throws -> [String] {
    let lab = try await FakeBlueZ.start(adapters: 1)
    try await lab.replay(phone)
    let adapter = try await lab.adapter(0)
    let replies = try await PhoneConversation.hold(at: adapter)
    adapter.session.close()
    try await lab.stop()
    return replies
  }
}
