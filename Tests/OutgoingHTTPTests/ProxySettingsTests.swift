import Testing

@testable import OutgoingHTTP

@Suite("The variables of proxies") struct ProxySettingsTests {
  @Test(
    "Each scheme has its variables, in lowercase first",
    arguments: [
      (["HTTPS_PROXY": "http://p:1"], "https://a.example", "p:1"),
      (["https_proxy": "http://p:1"], "https://a.example", "p:1"),
      (["https_proxy": "p:1", "HTTPS_PROXY": "q:2"], "https://a.example", "p:1"),
      (["https_proxy": "", "HTTPS_PROXY": "q:2"], "https://a.example", "q:2"),
      (["ALL_PROXY": "socks5://p"], "https://a.example", "p:1080"),
      (["all_proxy": "http://p"], "http://a.example", "p:80"),
      (["HTTPS_PROXY": "p:1"], "http://a.example", nil), (["http_proxy": "p:1"], "http://a.example", "p:1"),
      (["HTTP_PROXY": "p:1"], "http://a.example", nil),
      (["https_proxy": "http://[::1]:8"], "https://a.example", "::1:8"),
      ([:], "https://a.example", nil),
    ] as [([String: String], String, String?)])
  func variables(environment: [String: String], url: String, proxy: String?) throws {
    let found = try ProxySettings(environment).proxy(for: url)
    #expect(found.map { "\($0.host):\($0.port)" } == proxy)
  }

  @Test(
    "This host and the hosts of NO_PROXY are reached directly",
    arguments: [
      ("", "https://127.0.0.1:8333"), ("", "https://localhost"), ("", "https://a.localhost."), ("", "https://[::1]"),
      ("", "https://[::ffff:127.0.0.1]"), ("*", "https://a.example"), ("a.example", "https://a.example"),
      ("a.example", "https://deep.A.EXAMPLE."), (".example", "https://a.example"), ("*.example", "https://a.example"),
      ("b, a.example", "https://a.example:444"), ("a.example:443", "https://a.example"),
      ("192.0.2.7", "https://192.0.2.7"),
      ("192.0.2.0/24", "https://192.0.2.255"), ("10.0.0.0/8 x", "https://10.200.0.1"),
      ("2001:db8::/32", "https://[2001:db8::1]"),
      ("[2001:db8::1]:443", "https://[2001:db8::1]"), ("2001:db8::1", "https://[2001:db8:0::1]"),
      ("0.0.0.0/0", "https://192.0.2.1"),
    ])
  func directHosts(exceptions: String, url: String) throws {
    #expect(try ProxySettings(["HTTPS_PROXY": "p:1", "NO_PROXY": exceptions]).proxy(for: url) == nil)
  }

  @Test(
    "Other hosts are not",
    arguments: [
      ("a.example", "https://ba.example"), ("a.example", "https://example"), ("a.example:444", "https://a.example"),
      ("192.0.2.0/24", "https://192.0.3.1"), ("10.0.0.0/8", "https://10.example"), ("10.0.0.0/33", "https://10.0.0.1"),
      ("0.0.2.7", "https://192.0.2.7"), ("", "https://127.0.0.1.example"), (",, :,/,[", "https://a.example"),
    ])
  func proxiedHosts(exceptions: String, url: String) throws {
    #expect(try ProxySettings(["HTTPS_PROXY": "p:1", "no_proxy": exceptions]).proxy(for: url) != nil)
  }

  @Test("A name and password become a login") func logins() throws {
    let settings = ProxySettings(["HTTPS_PROXY": "http://ada:p%40ss@p.example:3128"])
    #expect(try settings.proxy(for: "https://a.example")?.login == "ada:p@ss")
  }

  @Test("No description of the settings contains a password", arguments: ["HTTPS_PROXY", "all_proxy", "http_proxy"])
  func passwordsAreNotShown(variable: String) throws {
    let settings = ProxySettings([variable: "http://ada:MARKED@p.example:3128"])
    let proxy = try settings.proxy(for: variable == "http_proxy" ? "http://a.example" : "https://a.example")
    #expect(proxy?.description == "http://p.example:3128")
    var text = "\(settings) \(String(reflecting: settings)) \(String(reflecting: proxy))"
    dump(settings, to: &text)
    dump(proxy, to: &text)
    #expect(!text.contains("MARKED"), "\(text)")
  }

  @Test(
    "A variable that names no proxy stops the request, and its value is not shown",
    arguments: [
      "https://MARKED:3128", "ftp://MARKED", "http://", "socks5://ada:MARKED@p", "http://MARKED:x",
      "http://MARKED:65536", "http://MARKED:99999999999999999999",
    ])
  func invalidProxies(text: String) throws {
    let settings = ProxySettings(["HTTPS_PROXY": text, "NO_PROXY": "b.example"])
    let error = #expect(throws: ProxySettings.InvalidProxy.self) { try settings.proxy(for: "https://a.example") }
    #expect(error?.description.contains("HTTPS_PROXY") == true)
    #expect(error.map { "\($0) \(String(reflecting: $0))".contains("MARKED") } == false)
    #expect(try settings.proxy(for: "https://b.example") == nil)
    #expect(try settings.proxy(for: "http://a.example") == nil)
  }
}
