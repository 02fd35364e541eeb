import Foundation
import Streams
import Testing

@testable import Coverage

/// The answers of a control server of one's own.
@Suite("Control servers of one's own") struct ServiceTests {
  private let folder: TemporaryFolder
  private let wall = Lock(StoreFixture.start)
  private let archive: CoverageArchive

  init() throws {
    folder = try TemporaryFolder()
    archive = try CoverageArchive(path: folder.path + "/r.sqlite") { [wall] in wall.withLock { $0 } }
  }

  private func service(_ archive: CoverageArchive? = nil) -> CoverageService {
    var options = CoverageService.Options(pings: .init(host: "ping.example", port: 5231))
    options.window = .seconds(600)
    return CoverageService(archive: archive ?? self.archive, options: options) { address in
      address.isEmpty ? nil : [UInt8](repeating: 7, count: 16)
    }
  }

  private func post(
    _ path: String, _ body: String, to other: CoverageService? = nil, from address: String = "192.0.2.7"
  ) throws -> (status: Int, text: String) {
    let answer = try (other ?? service()).answer(to: path, Data(body.utf8), from: address)
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  private func field(_ name: String, of text: String) throws -> String {
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    return try #require(object[name] as? String)
  }

  private func client() throws -> String {
    let text = try post("/settings", "{}").text
    let start = try #require(text.firstRange(of: "\"uuid\":\"")).upperBound
    return String(text[start...].prefix(36))
  }

  private func grant(_ client: String, time: Int64 = 1, loop: String? = nil) throws -> (status: Int, text: String) {
    let chain = loop.map { ",\"loop_uuid\":\"\($0)\"" } ?? ""
    return try post("/coverageRequest", "{\"client_uuid\":\"\(client)\",\"time\":\(time)\(chain)}")
  }

  private static let fence = """
    {"avg_ping_ms":12.34,"duration_ms":5000,"location":{"accuracy":4.5,"latitude":48.2,"longitude":16.37},"offset_ms":-6000,\
    "radius":20,"technology":"4G/LTE","technology_id":13,"timestamp_microseconds":1800000000000000}
    """

  private func result(_ session: String, _ client: String, _ fences: String) -> String {
    "{\"client_uuid\":\"\(client)\",\"test_uuid\":\"\(session)\",\"fences\":[\(fences)]}"
  }

  @Test("A grant has the members of the protocol with their types, byte for byte") func bytes() throws {
    let client = try client()
    let (status, text) = try grant(client)
    #expect(status == 201)
    let session = try field("test_uuid", of: text)
    let loop = try field("loop_uuid", of: text)
    #expect(UUID(uuidString: session) != nil)
    #expect(loop.first == "L")
    #expect(UUID(uuidString: String(loop.dropFirst())) != nil)
    #expect(
      text == """
        {"client_remote_ip":"192.0.2.7","error":[],"ip_version":4,"loop_test_counter":1,"loop_uuid":"\(loop)",\
        "max_coverage_measurement_seconds":600,"max_coverage_session_seconds":14400,"ping_host":"ping.example",\
        "ping_port":"5231","ping_token":"BwcHBwcHBwcHBwcHBwcHBw==","test_uuid":"\(session)"}
        """)
    // Our own client reads it, too.
    let read = try CoverageGrant(reply: Data(text.utf8))
    #expect(read.session == session)
    #expect(read.window == .seconds(600))
    #expect(read.runLimit == .seconds(14_400))
  }

  @Test("A repeated request is granted the same session, another one the next of its chain") func chains() throws {
    let client = try client()
    let first = try grant(client, time: 1).text
    #expect(try grant(client, time: 1).text == first)
    let loop = try field("loop_uuid", of: first)
    let second = try grant(client, time: 2, loop: loop).text
    #expect(second.contains("\"loop_test_counter\":2"))
    #expect(try field("loop_uuid", of: second) == loop)
    #expect(try grant(client, time: 2, loop: loop).text == second)
    #expect(try archive.counts().granted == 2)
    // The chain of another client is none of this one.
    let other = try self.client()
    #expect(try grant(other, time: 3, loop: loop).status == 400)
    #expect(try grant(client, time: 3, loop: "Lnone").status == 400)
  }

  @Test("A result is stored once; its repeat is good, and another one for the same session is refused")
  func results() throws {
    let client = try client()
    let session = try field("test_uuid", of: try grant(client).text)
    let body = result(session, client, Self.fence)
    #expect(try post("/coverageResult", body) == (200, "{}"))
    #expect(try post("/RMBTControlServer/coverageResult", body) == (200, "{}"))
    let other = try post("/coverageResult", result(session, client, ""))
    #expect(other.status == 400)
    #expect(other.text == "{\"error\":[\"No started test found by id \(session)\"]}")
    let foreign = try self.client()
    #expect(try post("/coverageResult", result(session, foreign, Self.fence)).status == 400)
    let parts = try archive.parts()
    #expect(parts.count == 1)
    let fence = try #require(parts.first?.fences.first)
    #expect(fence.mean == 12.34)
    #expect(fence.technology == .lte)
    #expect(fence.place.accuracy == 4.5)
    #expect(fence.exitedUs == 1_800_000_005_000_000)
    #expect(parts[0].session.anchorUs == 1_800_000_006_000_000)
  }

  @Test("What was granted and received survives, and is seen by another program") func restart() throws {
    let client = try client()
    let session = try field("test_uuid", of: try grant(client).text)
    let again = try CoverageArchive(path: archive.path)
    #expect(try post("/coverageResult", result(session, client, Self.fence), to: service(again)).status == 200)
    #expect(try CoverageArchive.copy(of: archive.path).parts().map(\.session.uuid) == [session])
    #expect(throws: CoverageError.self) { try CoverageArchive.copy(of: archive.path).client(nil) }
  }

  @Test(
    "A request that is not one of the protocol is refused, and the reason names the member",
    arguments: [
      ("/coverageRequest", "[]", "the body is not a JSON object"), ("/coverageRequest", "{", "the body is not JSON"),
      ("/coverageRequest", "{}", "client_uuid is missing"),
      ("/coverageRequest", "{\"client_uuid\":\"CLIENT\"}", "time is missing"),
      ("/coverageRequest", "{\"client_uuid\":\"CLIENT\",\"time\":\"1\"}", "time is of another type"),
      ("/coverageRequest", "{\"client_uuid\":\"x\",\"time\":1}", "Unknown client x"),
      (
        "/coverageRequest", "{\"client_uuid\":\"CLIENT\",\"time\":1,\"measurement_type_flag\":\"x\"}",
        "measurement_type_flag is none of"
      ),
      ("/coverageResult", "{\"client_uuid\":\"CLIENT\",\"test_uuid\":\"x\"}", "fences is missing"),
      ("/coverageResult", "{\"fences\":[{}]}", "is missing"),
      ("/news", "{}", "there is nothing here"),
    ])
  func refusals(path: String, body: String, reason: String) throws {
    let answer = try post(path, body.replacing("CLIENT", with: try client()))
    #expect(answer.status == (path == "/news" ? 404 : 400))
    #expect(answer.text.contains(reason), "\(answer.text)")
    #expect(try archive.counts() == (0, 0))
  }

  @Test(
    "A fence that cannot be one is refused, and the reason names it",
    arguments: [
      ("48.2", "98.2", "fences[0]: location is no place on the Earth"),
      (":20", ":-1", "fences[0]: radius is out of range"),
      ("5000", "-1", "fences[0]: duration_ms is out of range"),
      (":48.2", ":\"n\"", "fences[0].location.latitude is of another type"),
    ])
  func badFences(old: String, new: String, reason: String) throws {
    let fence = Self.fence.replacing(old, with: new)
    try #require(fence != Self.fence)
    let answer = try post("/coverageResult", "{\"fences\":[\(fence)]}")
    #expect(answer.status == 400)
    #expect(answer.text.contains(reason), "\(answer.text)")
  }

  @Test("A client keeps its identifier, and has at most 500 open sessions, of which old ones are given up")
  func limits() throws {
    let client = try client()
    #expect(try post("/settings", "{\"uuid\":\"U\(client)\"}").text.contains(client))
    #expect(try post("/settings", "{\"uuid\":\"mine\"}").text.contains("mine") == false)
    for time in 1...Int64(CoverageArchive.openLimit) { #expect(try grant(client, time: time).status == 201) }
    #expect(try grant(client, time: 0).status == 429)
    wall.withLock { $0 += CoverageArchive.openAgeMs + 1 }
    #expect(try grant(client, time: 0).status == 201)
    #expect(try archive.counts().granted == 1)
  }
}
