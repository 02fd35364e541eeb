import Testing

@testable import edgeblue

/// Networks that read along.
@Suite("Plain http to other hosts") struct PlainHTTPAttacks {
  private let terminal = Terminal(json: true)

  @Test(
    "Plain http to another host needs a flag",
    arguments: [
      "http://studio.local:11434", "http://192.0.2.1", "HTTP://[2001:db8::1]:80/v1", "http://127.0.0.1.example",
    ])
  func otherHostsNeedAFlag(url: String) throws {
    let error = #expect(throws: Failure.self) {
      try InsecureOptions.parse([]).check(["--engine-url": url], terminal)
    }
    #expect(error?.status == .badInput)
    #expect(error?.hint?.contains("--insecure") == true)
    try InsecureOptions.parse(["--insecure"]).check(["--engine-url": url], terminal)
  }

  @Test(
    "Encrypted URLs and those of this machine need none",
    arguments: ["https://studio.local", "http://127.0.0.1:11434", "http://localhost", "http://[::1]:8333", nil])
  func thisMachineNeedsNone(url: String?) throws {
    try InsecureOptions.parse([]).check(["--endpoint": url], terminal)
  }
}
