import Testing

@testable import AgentHTTP

@Suite("The header Retry-After") struct RetryAfterTests {
  @Test(
    "A number of seconds or a date is a delay, and any other text is none",
    arguments: [
      ("120", 120), (" 7", 7), ("0", 0), ("99999999999999999999", Int(Int32.max)),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:48:37 GMT", 0), ("-1", nil), ("1.5", nil), ("", nil),
      ("soon", nil), ("Sun, 06 Nov", nil),
    ] as [(String, Int?)])
  func delays(value: String, seconds: Int?) {
    // 06 Nov 1994 08:49:00 UTC
    #expect(RetryAfter.delay(value, at: 784_111_740) == seconds.map { .seconds($0) })
  }
}
