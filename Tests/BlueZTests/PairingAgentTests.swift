import BlueZ
import Testing

@Suite("Pairing agents")
struct PairingAgentTests {
  @Test("The handlers of an agent determine its capability")
  func capability() throws {
    func capability(_ display: Bool, _ confirm: Bool, _ enter: Bool) throws -> PairingAgent.Capability {
      var agent = PairingAgent(authorizePairing: { _ in true })
      if display { agent.displayPasskey = { _, _ in } }
      if confirm { agent.confirmPasskey = { _, _ in true } }
      if enter { agent.enterPasskey = { _ in try #require(Passkey(0)) } }
      return try agent.capability
    }
    #expect(try capability(false, false, false) == .noInputNoOutput)
    #expect(try capability(true, false, false) == .displayOnly)
    #expect(try capability(true, true, false) == .displayYesNo)
    #expect(try capability(false, false, true) == .keyboardOnly)
    #expect(try capability(true, true, true) == .keyboardDisplay)
    for (display, confirm, enter) in [(false, true, false), (false, true, true), (true, false, true)] {
      let error = #expect(throws: BlueZError.self) { try capability(display, confirm, enter) }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test("A passkey has exactly six digits")
  func passkey() {
    #expect(Passkey(42)?.description == "000042")
    #expect(Passkey("000042")?.number == 42)
    #expect(Passkey("999999")?.number == 999_999)
    #expect(Passkey(1_000_000) == nil)
    for text in ["", "42", "0000042", "+00042", "00004٢", "12345a"] { #expect(Passkey(text) == nil) }
  }
}
