import FoundationEssentials
import Testing

@testable import SpeedTest

@Suite struct TokenTests {
  private let address: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 62, 1, 2, 3]
  private let uuid = UUID(uuidString: "8723358c-2037-4029-a70c-91e5d9d35cf3")!

  private func token(_ form: SpeedTestTokenForm, _ secret: String = "topsecret") throws -> String {
    SpeedTestToken.make(
      form, key: try SpeedTestKey(secret), uuid: uuid, seconds: 1_700_000_000, address: address)
  }

  private func verdict(_ token: String, at seconds: Int64 = 1_700_000_000, _ more: String...) throws -> TokenVerdict {
    let keys = try (more + ["topsecret"]).map { try SpeedTestKey($0) }
    return SpeedTestToken.verify(token, keys: keys, seconds: seconds, address: address)
  }

  @Test("The tokens of a known key are those of other implementations") func golden() throws {
    let v1 = "8723358c-2037-4029-a70c-91e5d9d35cf3_1700000000_Q+55pZ/JOQgjMe49FlelxsfCxqA="
    let v2 = "ZVPxAEzErM6+VBk3HmTzPw=="
    #expect(try token(.v1) == v1)
    #expect(try token(.v2) == v2)
    #expect(try token(.combined) == "\(v1)_#v2#\(v2)")
  }

  @Test("A token is valid from 20 s before its time to 90 s after it", arguments: SpeedTestTokenForm.allCases)
  func theWindow(form: SpeedTestTokenForm) throws {
    let token = try token(form)
    #expect(try verdict(token) == .accepted(delay: .zero))
    #expect(try verdict(token, at: 1_700_000_090) == .accepted(delay: .zero))
    #expect(try verdict(token, at: 1_700_000_091) == .rejected)
    #expect(try verdict(token, at: 1_699_999_997) == .accepted(delay: .seconds(3)))
    #expect(try verdict(token, at: 1_699_999_980) == .accepted(delay: .seconds(20)))
    #expect(try verdict(token, at: 1_699_999_979) == .rejected)
  }

  @Test("Any of the keys may have made a token, and no other key", arguments: SpeedTestTokenForm.allCases)
  func theKeys(form: SpeedTestTokenForm) throws {
    #expect(try verdict(token(form), "another", "athird") == .accepted(delay: .zero))
    #expect(try verdict(token(form, "another")) == .rejected)
  }

  @Test("Only the second form of a combined token counts") func combined() throws {
    #expect(try verdict("garbage_#v2#" + token(.v2)) == .accepted(delay: .zero))
    #expect(try verdict(token(.v1) + "_#v2#AAAA") == .rejected)
  }

  @Test("The second form is valid for one address") func theAddress() throws {
    let other = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 62, 1, 2, 4]
    let keys = [try SpeedTestKey("topsecret")]
    let verdict = SpeedTestToken.verify(try token(.v2), keys: keys, seconds: 1_700_000_000, address: other)
    #expect(verdict == .rejected)
  }

  @Test(
    "Garbage is rejected",
    arguments: ["", "_", "__", "a_b_c", "_#v2#", "8723358c-2037-4029-a70c-91e5d9d35cf3_1700000000_", "AAAA"])
  func garbage(token: String) throws {
    #expect(try verdict(token) == .rejected)
  }

  @Test("A key file has a key with a label on each line, and skips short lines") func theKeyFile() {
    let keys = SpeedTestKey.keys(in: "topsecret office router\n\nabc\nanother\r\n")
    #expect(keys.map(\.label) == ["office router", ""])
    #expect("\(keys)".contains("topsecret") == false)
  }

  @Test("A short key, a missing file and a file without a key are errors") func wrongKeys() {
    #expect(throws: SpeedTestError.self) { try SpeedTestKey("1234") }
    #expect(throws: SpeedTestError.self) { try SpeedTestKey.keys(inFile: "/nonexistent/keys") }
    #expect(throws: SpeedTestError.self) { try SpeedTestKey.keys(inFile: "/dev/null") }
  }
}
