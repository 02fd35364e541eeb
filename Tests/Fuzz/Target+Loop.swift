import Foundation

@testable import SpeedTest
@testable import SystemState

extension Target {
  /// The files of a loop, and what tells it where the machine is.
  static let loop = [
    Target("loop-file", texts: loopFiles()) { bytes in
      guard let contents = LoopStore<String>.decode(Data(bytes)) else { return }
      for boot in ["a", "b"] {
        var machine = LoopMachine(contents.state)
        var now = LoopInstant(wallMs: 1_800_000_000_000, boot: boot, bootMs: 5000, utcOffset: 3600)
        for event in events {
          _ = machine.handle(event, at: now)
          _ = machine.wait(at: now)
          _ = machine.state.estimate(at: now)
          now.bootMs += 400_000
        }
        require(machine.state.history.count <= 2 * machine.state.plan.tests, "a loop runs more tests than it has")
      }
    },
    Target(
      "gpsd",
      texts: [
        #"{"class":"WATCH","enable":true}"# + "\n"
          + #"{"class":"TPV","mode":3,"time":"2026-11-25T12:00:06.000Z","lat":48.2,"lon":16.3,"eph":19,"speed":2}"#
          + "\n"
      ]
    ) { bytes in
      var machine = GPSDMachine()
      for case .fix(let fix) in try machine.receive(bytes) {
        require((-90...90).contains(fix.latitude), "a latitude that is none")
        require(fix.error.map { $0 >= 0 } ?? true, "a negative error")
      }
    },
    Target(
      "track",
      texts: [
        "<gpx><trkpt lat=\"48.2\" lon='16.3'><ele>3</ele><time>2026-11-25T12:00:00Z</time><hdop>1</hdop></trkpt></gpx>",
        "$GPRMC,120000.00,A,4812.000,N,01622.000,E,10.0,90.0,251126,,,A*5C\n",
      ]
    ) { bytes in
      guard let track = Track(bytes) else { return }
      require(zip(track.points, track.points.dropFirst()).allSatisfy { $0.offset <= $1.offset }, "time runs backwards")
    },
  ]

  private static let events: [LoopMachine.Event] = [
    .launch(stored: nil), .presence(.away), .presence(.present), .tested(LoopOutcome(.failed)), .timePassed,
    .tested(LoopOutcome(.completed)), .timePassed, .stop, .tested(LoopOutcome(.stopped)), .timePassed,
  ]

  /// A loop in each of its phases, as it is written.
  private static func loopFiles() -> [String] {
    let now = LoopInstant(wallMs: 1_800_000_000_000, boot: "a", bootMs: 1000)
    guard let plan = try? LoopPlan(tests: 2) else { return [] }
    var machine = LoopMachine(LoopState(id: UUID(), plan: plan, at: now))
    return events.prefix(4).compactMap { event in
      _ = machine.handle(event, at: now)
      let file = try? LoopStore<String>.encode(.init(state: machine.state, settings: ""))
      return file.map { String(decoding: $0, as: UTF8.self) }
    }
  }
}
