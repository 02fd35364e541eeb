import DeterministicTesting
import Foundation
import Testing

@testable import Coverage

/// Random walks, whose fences are compared with those that an oracle finds in the whole record afterwards.
@Suite("Simulated walks") struct WalkTests {
  /// What happened in a walk, in the order of time.
  enum Happening {
    case place(CoverageLocation)
    case network(CoverageNetwork)
    case session(String)
  }

  struct Walk {
    var happenings: [(at: Duration, what: Happening)] = []
    /// The pings with the instant of their completion.
    var pings: [(ping: PingResult, done: Duration)] = []
    var end = Duration.zero
  }

  private struct Circle {
    var entered: Duration
    var exited: Duration
    var centre: CoverageLocation
    var radius: Double
    var session: Int
    var dirty: Bool
  }

  /// What the oracle and the machine must agree on.
  struct Found: Hashable {
    var entered: Duration
    var exited: Duration
    var radius: Double
    var answered: Int
    var lost: Int
    /// The sum of the times of the pings with a reply, in milliseconds.
    var sum: Int
    var session: String?
  }

  private static func walk(_ seed: UInt64) -> Walk {
    var random = SeededGenerator(seed: seed)
    var walk = Walk()
    var metres = 0.0
    var network = CoverageNetwork.cellular
    let seconds = hours.map { Int.random(in: 900...max(900, $0 * 3600), using: &random) } ?? 900
    for second in 0..<seconds {
      // Never on the tick of a ping, where the order of two events would decide.
      let at = Duration.milliseconds(second * 1000 + 37)
      metres += Double.random(in: -5...12, using: &random)
      let accuracy: Double? =
        switch Int.random(in: 0..<20, using: &random) {
        case 0: nil
        case 1, 2: Double.random(in: 15.1...80, using: &random)
        default: Double.random(in: 0...15, using: &random)
        }
      let speed = Double.random(in: 0...30, using: &random)
      if let place = FenceDriver.place(metres, accuracy: accuracy, speed: speed) {
        walk.happenings.append((at, .place(place)))
      }
      if Int.random(in: 0..<90, using: &random) == 0 {
        network = network == .wifi ? .cellular : .wifi
        walk.happenings.append((at + .milliseconds(11), .network(network)))
      }
      if Int.random(in: 0..<200, using: &random) == 0 {
        walk.happenings.append((at + .milliseconds(22), .session("s\(second)")))
      }
      for tick in 0..<10 where network != .wifi {
        let due = Duration.milliseconds(second * 1000 + tick * 100)
        let isLost = Int.random(in: 0..<6, using: &random) == 0
        let time = isLost ? nil : Duration.milliseconds(Int.random(in: 5...990, using: &random))
        walk.pings.append((PingResult(at: due, roundTrip: time), due + (time ?? .seconds(1))))
      }
    }
    walk.end = .seconds(seconds + 10)
    return walk
  }

  /// The fences by the rules alone, from the whole record.
  private static func oracle(_ walk: Walk) -> [Found] {
    var fences: [Circle] = []
    var isOpen = false
    var network = CoverageNetwork.cellular
    var names: [String?] = [nil]
    for (at, what) in walk.happenings {
      switch what {
      case .place(let place):
        guard let accuracy = place.accuracy, accuracy <= 15 else { continue }
        if isOpen, let last = fences.last, last.centre.place.distance(to: place.place) < last.radius { continue }
        if isOpen { fences[fences.count - 1].exited = at }
        let radius = max(15, 10 + 2 * accuracy, place.speed ?? 0)
        let circle = Circle(
          entered: at, exited: walk.end, centre: place, radius: radius, session: names.count - 1,
          dirty: network == .wifi)
        fences.append(circle)
        isOpen = true
      case .network(let new):
        network = new
        guard isOpen else { continue }
        fences[fences.count - 1].dirty = true
        if new == .cellular {
          fences[fences.count - 1].exited = at
          isOpen = false
        }
      case .session(let name):
        if names == [nil] {
          names = [name]
        } else {
          if isOpen { fences[fences.count - 1].exited = at }
          isOpen = false
          names.append(name)
        }
      }
    }
    let places = walk.happenings.compactMap { if case .place(let place) = $0.what { place } else { nil } }
    let good = walk.pings.map(\.ping).filter { !isInaccurate($0.at, places) }
    var next = 0
    // Both are in the order of time, and no two fences overlap.
    return fences.compactMap { fence in
      while next < good.count, good[next].at <= fence.entered { next += 1 }
      let own = good[next...].prefix { $0.at < fence.exited }
      next += own.count
      guard !fence.dirty else { return nil }
      let times = own.compactMap(\.milliseconds)
      return Found(
        entered: fence.entered, exited: fence.exited, radius: fence.radius, answered: times.count,
        lost: own.count - times.count, sum: times.map { Int($0.rounded()) }.reduce(0, +), session: names[fence.session])
    }
  }

  /// Returns `true` if the last location before an instant was bad, and not measured at that instant.
  private static func isInaccurate(_ instant: Duration, _ places: [CoverageLocation]) -> Bool {
    // There is one location a second, 37 ms after it begins.
    let number = Int(((instant - .milliseconds(37)) / .seconds(1)).rounded(.down))
    guard places.indices.contains(number) else { return false }
    return places[number].accuracy.map { $0 > 15 } ?? true
  }

  /// The longest walk in hours, of `EDGEBLUE_WALK_HOURS`; without it each walk takes a quarter of an hour.
  private static let hours = ProcessInfo.processInfo.environment["EDGEBLUE_WALK_HOURS"].flatMap(Int.init)

  /// Sixty seeds, or those of `EDGEBLUE_SEEDS`, such as "1 1000".
  private static let seeds: ClosedRange<UInt64> = {
    let named = ProcessInfo.processInfo.environment["EDGEBLUE_SEEDS"]?.split(separator: " ").compactMap { UInt64($0) }
    guard let first = named?.first, let last = named?.last, first <= last else { return 0...59 }
    return first...last
  }()

  @Test("The machine finds the same fences as the oracle", arguments: seeds) func walks(_ seed: UInt64) {
    let walk = Self.walk(seed)
    var driver = FenceDriver()
    let events: [(at: Duration, event: FenceMachine.Event)] =
      walk.happenings.map { happening in
        switch happening.what {
        case .place(let place): (happening.at, .location(place))
        case .network(let network): (happening.at, .network(network))
        case .session(let session): (happening.at, .session(session))
        }
      } + walk.pings.map { ($0.done, .ping($0.ping)) }
    for (at, event) in events.sorted(by: { $0.at < $1.at }) { driver.take(event, on: at) }
    driver.take(.stop, on: walk.end)
    let found = zip(driver.fences, driver.owners).map { fence, owner in
      Found(
        entered: fence.entered, exited: fence.exited ?? .zero, radius: fence.radius, answered: fence.pings.answered,
        lost: fence.pings.lost, sum: Int(fence.pings.sum.rounded()), session: owner)
    }
    let wanted = Self.oracle(walk)
    #expect(wanted.count > 5)
    #expect(found == wanted, "seed \(seed)")
  }
}
