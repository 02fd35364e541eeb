import Foundation
import JSONValues
import Testing

@testable import SpeedTest

/// What control servers send, in all the forms in which they send it.
@Suite("The API of control servers") struct ControlClientTests {
  private static let client = "c373f294-f332-4f1a-999e-a87a12523f4b"
  private static let test = "8723358c-2037-4029-a70c-91e5d9d35cf3"
  private static let settings = """
    {"settings":[{"uuid":"\(client)","terms_and_conditions":{"version":"6","url":"https://control.example/terms"},
    "urls":{"url_ipv4_check":"https://v4.example/ip","url_ipv6_check":7,"open_data_prefix":""},"history":null,
    "versions":{"control_server_version":"1.2.3"}}],"error":[]}
    """
  private static let grant = """
    {"test_token":"a_1_b=","test_uuid":"\(test)","open_test_uuid":"O\(test)","test_server_address":"m.example",
    "test_server_port":"443","test_server_type":"RMBThttp","test_server_encryption":"true","test_duration":"9",
    "test_numthreads":5,"test_numpings":"1000","test_wait":"2","client_remote_ip":"192.0.2.7","provider":"P",
    "result_url":"http://elsewhere.example/result","result_qos_url":"https://elsewhere.example/qos","error":[]}
    """

  private func server(_ replies: [String: String]) -> FakeControlServer {
    FakeControlServer { path, _ in ControlReply(replies[path] ?? "{}", status: replies[path] == nil ? 404 : 200) }
  }

  @Test("The identifier is kept for each control server, over restarts") func identifiers() async throws {
    let folder = try TemporaryFolder()
    let first = server(["/settings": Self.settings])
    let settings = try await first.client(folder).settings()
    #expect(settings.client == Self.client)
    #expect(settings.terms == .init(version: 6, url: "https://control.example/terms"))
    #expect(settings.ipv4Check == "https://v4.example/ip")
    #expect(settings.ipv6Check == nil)
    #expect(first.bodies("/settings")[0]["uuid"] == nil)
    // Another process, and a server that does not repeat it.
    let second = server(["/settings": #"{"settings":[{}]}"#])
    #expect(try await second.client(folder).settings().client == Self.client)
    #expect(second.bodies("/settings")[0]["uuid"]?.text == Self.client)
    let other = try ControlClient(
      address: "https://other.example/", transport: server([:]), device: .test, folder: folder.path)
    #expect(other.address == "https://other.example/RMBTControlServer")
    await #expect(throws: SpeedTestError.self) { try await other.settings() }
    #expect(throws: SpeedTestError.self) { try other.client() }
  }

  @Test("Terms are accepted by the user alone, in the version that the server has") func terms() async throws {
    let folder = try TemporaryFolder()
    let server = FakeControlServer { _, body in
      let hasAccepted = body["terms_and_conditions_accepted_version"]?.integer == 6
      return ControlReply(hasAccepted ? Self.settings : #"{"settings":{"terms_and_conditions":{"version":6}}}"#)
    }
    let client = try server.client(folder)
    let error = await #expect(throws: SpeedTestError.self) { try await client.settings() }
    #expect(error?.code == .termsNotAccepted)
    #expect(server.bodies("/settings").allSatisfy { $0["terms_and_conditions_accepted"] == false })
    #expect(try await client.settings(acceptsTerms: true).client == Self.client)
    #expect(try await client.settings().client == Self.client)
    #expect(server.bodies("/settings").last?["terms_and_conditions_accepted"] == true)
  }

  @Test("A grant is read whether its numbers are strings or not, and impossible sizes are moved into range")
  func aGrant() async throws {
    let folder = try TemporaryFolder()
    let client = try server(["/settings": Self.settings, "/testRequest": Self.grant]).client(folder)
    _ = try await client.settings()
    let test = try await client.requestTest()
    #expect(test.id == Self.test)
    #expect(test.openID == Self.test)
    #expect(test.host == "m.example")
    #expect(test.port == 443)
    #expect(test.kind == .http)
    #expect(test.isEncrypted)
    #expect(test.size == .init(seconds: 9, threads: 5, pings: 200))
    #expect(test.wait == .seconds(2))
    // A token does not leave the encryption.
    #expect(client.url(test.resultURL, "/result") == "https://control.example/RMBTControlServer/result")
    #expect(client.url(test.qosResultURL, "/resultQoS") == "https://elsewhere.example/qos")
  }

  @Test("A test of a loop is requested with the loop's identifier, plan and count") func loops() async throws {
    let server = server(["/settings": Self.settings, "/testRequest": Self.grant])
    let client = try server.client(try TemporaryFolder())
    _ = try await client.settings()
    let id = try #require(UUID(uuidString: Self.client))
    let plan = try LoopPlan(tests: 20, delay: .seconds(1800), movement: 500)
    _ = try await client.requestTest(loop: ControlLoop(id: id, test: 3, plan: plan))
    _ = try await client.requestTest(loop: ControlLoop(id: id, test: 4, plan: try LoopPlan(movement: nil)))
    _ = try await client.requestTest()
    let requests = server.bodies("/testRequest")
    #expect(requests.map { $0["measurement_type_flag"] } == ["loop_active", "loop_active", "regular"])
    #expect(requests.map { $0["user_loop_mode"] } == [true, true, false])
    #expect(
      requests[0]["loopmode_info"] == [
        "loop_uuid": .string(Self.client), "max_delay": 30, "max_movement": 500, "max_tests": 20, "test_counter": 3,
      ])
    #expect(requests[1]["loopmode_info"]?["max_movement"] == nil)
    #expect(requests[1]["loopmode_info"]?["max_delay"] == 15)
    #expect(requests[2]["loopmode_info"] == nil)
  }

  @Test(
    "A grant without what a test needs is a typed error",
    arguments: [
      ("test_uuid", "\"no uuid\""), ("test_token", "\"a b\""), ("test_token", "\"a\\nQUIT\""), ("test_token", "null"),
      ("test_server_address", "\"\""), ("test_server_address", "\"a b\""), ("test_server_port", "0"),
      ("test_server_port", "65536"), ("test_server_port", "\"1e99\""), ("test_server_type", "\"RMBTws\""),
    ])
  func missing(key: String, value: String) async throws {
    let members = try #require(JSONValue(parsing: Array(Self.grant.utf8)).members)
    let changed = members.filter { $0.name != key } + [.init(key, try JSONValue(parsing: Array(value.utf8)))]
    let text = String(decoding: JSONValue.object(changed).encoded, as: UTF8.self)
    let client = try server(["/settings": Self.settings, "/testRequest": text]).client(try TemporaryFolder())
    _ = try await client.settings()
    let error = await #expect(throws: SpeedTestError.self) { try await client.requestTest() }
    #expect(error?.code == .invalidReply)
    #expect(error?.message.contains(key) == true)
  }

  @Test("An error in a reply with status 200 is the reason of a refusal") func errorsInSuccess() async throws {
    for text in [#"{"error":["No server is free"]}"#, #"{"error":"No server is free"}"#] {
      let folder = try TemporaryFolder()
      let server = server(["/settings": Self.settings, "/testRequest": text])
      let client = try server.client(folder)
      _ = try await client.settings()
      for _ in 0..<2 {
        let error = await #expect(throws: SpeedTestError.self) { try await client.requestTest() }
        #expect(error?.code == .declined)
        #expect(error?.message.contains("No server is free") == true)
      }
      let requests = server.bodies("/testRequest")
      #expect(requests.map { $0["testCounter"]?.integer } == [0, 1])
      #expect(requests.map { $0["previousTestStatus"]?.text } == ["NONE", "ERROR_FETCH"])
    }
  }

  @Test("A reply that is no JSON object is a typed error, whatever its status", arguments: [200, 302, 400, 500])
  func notJSON(status: Int) async throws {
    let deep = String(repeating: "[", count: 100_000)
    for text in ["<html>", "", "[]", "7", deep, #"{"a":\#(deep)"#] {
      let server = FakeControlServer { _, _ in ControlReply(text, status: status) }
      let client = try server.client(try TemporaryFolder())
      let error = await #expect(throws: SpeedTestError.self) { try await client.settings() }
      #expect(error?.code == (status == 200 ? .invalidReply : .declined))
    }
  }

  @Test("What is sent has the forms that servers require") func whatIsSent() {
    let odd = ControlDevice(
      osVersion: "Linux\n6", model: String(repeating: "m", count: 200), language: "C", timezone: "Mars/Crater \n",
      softwareVersion: "2.10")
    let members = odd.members(client: nil)
    #expect(members["language"] == "en")
    #expect(members["timezone"] == "UTC")
    #expect(members["os_version"] == "Linux6")
    #expect(members["model"]?.text?.count == 100)
    #expect(members["softwareVersionCode"] == 210)
    #expect(members["plattform"] == members["platform"])
    #expect(ControlDevice.test.members(client: "x")["language"] == "de")
  }

  @Test("Addresses of this client are those that the server sees, in the version that was asked for")
  func addresses() async throws {
    let settings = Self.settings.replacingOccurrences(
      of: "\"url_ipv6_check\":7", with: "\"url_ipv6_check\":\"https://v6.example/ip\"")
    let server = FakeControlServer { path, _ in
      switch path {
      case "/settings": ControlReply(settings)
      case "https://v4.example/ip": ControlReply(#"{"v":4,"ip":"203.0.113.7"}"#)
      default: ControlReply(#"{"v":"6","ip":"203.0.113.7"}"#)
      }
    }
    let client = try server.client(try TemporaryFolder())
    let found = try await client.addresses(try await client.settings()) { _ in "192.168.1.2" }
    #expect(found.map(\.version) == [4])
    #expect(found.map(\.external) == ["203.0.113.7"])
    #expect(found.first?.isTranslated == true)
    for (text, version) in [("::1", 6), ("1.2.3", nil), ("1.2.3.256", nil), ("host", nil), ("2001:db8::1", 6)] {
      #expect(ControlAddress.version(of: text) == version)
    }
  }
}

extension ControlDevice {
  static let test = ControlDevice(
    osVersion: "Linux 6.1", model: "board", language: "de_AT.UTF-8", timezone: "Europe/Vienna", softwareVersion: "1.2.3"
  )
}
