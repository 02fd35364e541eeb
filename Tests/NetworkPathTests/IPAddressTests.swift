import NetworkPath
import Testing

@Suite("IP addresses") struct IPAddressTests {
  @Test(
    "An address survives the conversion to text and back",
    arguments: ["0.0.0.0", "192.0.2.1", "255.255.255.255", "::", "::1", "fe80::1", "2001:db8::ff00:42:8329"])
  func textAndBack(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(address.description == text)
    #expect(IPAddress(bytes: address.bytes) == address)
  }

  @Test(
    "Malformed text is no address", arguments: ["", "192.0.2", "192.0.2.256", "::g", "example.org", "1.2.3.4 ", "fe80"])
  func noAddress(text: String) { #expect(IPAddress(text) == nil) }

  @Test("A zone is ignored") func zonesAreIgnored() { #expect(IPAddress("fe80::1%eth0")?.description == "fe80::1") }

  @Test("Only 4 or 16 bytes make an address") func onlyFourOrSixteenBytes() {
    for count in 0...20 {
      #expect((IPAddress(bytes: .init(repeating: 1, count: count)) != nil) == [4, 16].contains(count))
    }
  }

  @Test("Loopback and link-local addresses are recognized") func howFarTheyReach() {
    #expect(["127.0.0.1", "127.9.9.9", "::1"].allSatisfy { IPAddress($0)!.isLoopback })
    #expect(["169.254.1.1", "fe80::1", "febf::1"].allSatisfy { IPAddress($0)!.isLinkLocal })
    for address in ["192.0.2.1", "::2", "fec0::1", "2001::1"].compactMap({ IPAddress($0) }) {
      #expect(!address.isLinkLocal)
      #expect(!address.isLoopback)
    }
  }
}
