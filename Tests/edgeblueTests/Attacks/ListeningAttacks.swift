import ArgumentParser
import Testing

@testable import edgeblue

/// Who else is on the network: nothing listens for them unless a user says so.
@Suite("What the command listens for") struct ListeningAttacks {
  @Test(
    "A collector for other hosts needs a certificate",
    arguments: [
      "0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "example.com", "", "0", "*", "::ffff:192.0.2.1",
      "localhost.example.com", "127.0.0.1.example.com", "[::1]",
    ])
  func theCollectorStaysHere(host: String) throws {
    #expect(try MessagesCollectCommand.parse(["--to", "folder"]).host == "127.0.0.1")
    let arguments = ["--to", "folder", "--host", host]
    #expect(throws: (any Error).self) { try MessagesCollectCommand.parse(arguments) }
    #expect(throws: Never.self) {
      try MessagesCollectCommand.parse(arguments + ["--certificate", "chain.pem", "--key", "key.pem"])
    }
  }

  @Test("A collector for this host needs no certificate", arguments: ["127.0.0.1", "::1", "localhost"])
  func theCollectorOfThisHost(host: String) throws {
    #expect(try MessagesCollectCommand.parse(["--to", "folder", "--host", host]).certificate == nil)
  }

  @Test("A speed test server admits everybody only when asked to") func theSpeedTestServerIsClosed() {
    #expect(throws: (any Error).self) { try SpeedTestServeCommand.parse([]) }
    #expect(throws: Never.self) { try SpeedTestServeCommand.parse(["--open"]) }
  }
}
