import DeterministicTesting
import Testing

@testable import SystemState

@Suite("The reports of gpsd") struct GPSDMachineTests {
  private static let watch = #"{"class":"WATCH","enable":true,"json":true}"# + "\n"

  private func report(_ rest: String) -> String { #"{"class":"TPV","device":"/dev/gps","# + rest + "}\n" }

  private func updates(_ text: String) throws -> [LocationUpdate] {
    var machine = GPSDMachine()
    return try machine.receive(text.utf8)
  }

  @Test("A report of gpsd 3.22 is a location") func aReport() throws {
    let line =
      #"{"class":"TPV","device":"tcp://127.0.0.1:19999","mode":3,"time":"2026-11-25T12:00:06.000Z","ept":0.005,"#
      + #""lat":48.205850000,"lon":16.366666667,"altHAE":245.0000,"altMSL":200.0000,"alt":200.0000,"epv":34.500,"#
      + #""track":0.0000,"speed":2.572,"climb":0.000,"eph":19.000,"sep":34.200}"# + "\n"
    let updates = try updates(Self.watch + line)
    var fix = try #require(LocationFix(latitude: 48.20585, longitude: 16.366666667, error: 19))
    fix.altitude = 200
    fix.speed = 2.572
    fix.course = 0
    fix.measuredAtMs = 1_795_608_006_000
    #expect(updates == [.searching, .fix(fix)])
  }

  @Test("Lines may come in pieces, with or without a carriage return") func pieces() throws {
    var machine = GPSDMachine()
    var updates: [LocationUpdate] = []
    let text = Self.watch.replacing("\n", with: "\r\n") + "\n" + report(#""mode":2,"lat":1,"lon":2"#)
    for byte in text.utf8 { updates += try machine.receive([byte]) }
    #expect(updates.count == 2)
  }

  @Test(
    "A receiver without a fix, or with impossible degrees, is searching",
    arguments: [
      #""mode":1"#, #""mode":0,"lat":1,"lon":2"#, #""mode":3,"lat":91,"lon":2"#, #""mode":3"#, #""lat":1,"lon":2"#,
    ])
  func noFix(rest: String) throws {
    #expect(try updates(report(rest) + report(rest)) == [.searching])
  }

  @Test("The same report again is an old location") func oldLocation() throws {
    let first = report(#""mode":3,"time":"2026-11-25T12:00:06.000Z","lat":1,"lon":2"#)
    let second = report(#""mode":3,"time":"2026-11-25T12:00:07.000Z","lat":1,"lon":2"#)
    #expect(try updates(first + first + second + second).count == 2)
  }

  @Test("The error is that of both axes where there is no other, and unknown without either") func errors() throws {
    let texts = [
      #""mode":2,"lat":1,"lon":2,"epx":3,"epy":4"#, #""mode":2,"lat":1,"lon":2,"epx":3"#,
      #""mode":2,"lat":1,"lon":2,"eph":-1"#,
    ]
    let errors = try texts.map { text -> Double? in
      guard case .fix(let fix) = try updates(report(text)).first else { return .nan }
      return fix.error
    }
    #expect(errors == [5, nil, nil])
  }

  @Test("A location is found again after it was lost") func lostAndFound() throws {
    let fix = report(#""mode":2,"lat":1,"lon":2"#)
    let updates = try updates(fix + report(#""mode":1"#) + report(#""mode":1"#) + fix)
    #expect(updates.map { $0 == .searching } == [false, true, false])
  }

  @Test("What no gpsd sends is refused", arguments: ["HTTP/1.1 400 Bad Request\n", "{}\n", "[]\n", "{\"class\":3}\n"])
  func noGPSD(text: String) {
    #expect(throws: GPSDMachine.Violation.self) { try updates(text) }
  }

  @Test("A line without an end is refused") func anEndlessLine() throws {
    var machine = GPSDMachine()
    let part = [UInt8](repeating: 0x61, count: GPSDMachine.lineLimit)
    #expect(try machine.receive(part).isEmpty)
    #expect(throws: GPSDMachine.Violation.self) { try machine.receive([0x61]) }
  }

  @Test("Any bytes end no process") func anyBytes() {
    var random = SeededGenerator(seed: 17)
    let good = Array(
      (Self.watch + report(#""mode":3,"time":"2026-11-25T12:00:06.000Z","lat":1,"lon":2,"eph":1e308"#)).utf8)
    for _ in 0..<3000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      var machine = GPSDMachine()
      // A refusal is as good as an answer.
      _ = try? machine.receive(bytes)
    }
  }
}
