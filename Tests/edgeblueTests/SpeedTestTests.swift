import ArgumentParser
import Testing

@testable import edgeblue

@Suite struct SpeedTestCommandTests {
  @Test(
    "A server is a host with or without a port",
    arguments: [
      ("192.0.2.1", "192.0.2.1:5231"), ("speed.example.org:443", "speed.example.org:443"),
      ("[2001:db8::1]:80", "[2001:db8::1]:80"), ("[2001:db8::1]", "[2001:db8::1]:5231"),
      ("2001:db8::1", "[2001:db8::1]:5231"),
    ])
  func servers(text: String, expected: String) throws {
    #expect(try #require(ServerAddress(argument: text)).text == expected)
  }

  @Test(
    "What is no server is refused", arguments: ["", ":80", "host:", "host:0", "host:65536", "[::1", "a b", "[::1]x"])
  func noServers(text: String) {
    #expect(ServerAddress(argument: text) == nil)
  }

  @Test("Rates have a unit that suits them") func rates() {
    #expect(SpeedTestTable.rate(512_300) == "512 kbit/s")
    #expect(SpeedTestTable.rate(4_782_000) == "4.78 Mbit/s")
    #expect(SpeedTestTable.rate(94_340_000) == "94.3 Mbit/s")
    #expect(SpeedTestTable.rate(1_254_000_000) == "1.25 Gbit/s")
    #expect(SpeedTestTable.time(80_000) == "0.08 ms")
    #expect(SpeedTestTable.time(12_340_000) == "12.3 ms")
  }

  @Test("The bar is full at the end of a phase, and not longer") func theBar() {
    #expect(SpeedTestView.bar(0, width: 4) == "░░░░")
    #expect(SpeedTestView.bar(0.5, width: 4) == "██░░")
    #expect(SpeedTestView.bar(3, width: 4) == "████")
  }
}
