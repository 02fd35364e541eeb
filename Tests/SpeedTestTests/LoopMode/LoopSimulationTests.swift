import Foundation
import Testing

@testable import SpeedTest

@Suite("Simulated loops") struct LoopSimulationTests {
  /// The first and the last seed: a few, or those of EDGEBLUE_SEEDS, such as "1 1000".
  static let seeds: ClosedRange<UInt64> = {
    let named = ProcessInfo.processInfo.environment["EDGEBLUE_SEEDS"]?.split(separator: " ").compactMap { UInt64($0) }
    guard let named, named.count == 2, named[0] <= named[1] else { return 1...40 }
    return named[0]...named[1]
  }()

  @Test("No test is lost, doubled or early: time, movement, kills, suspends, reboots, clock jumps, failures, locks")
  func loops() throws {
    var begun = 0
    var notices = 0
    for seed in Self.seeds {
      var world = try LoopWorld(seed: seed)
      try Self.live(&world)
      let state = try #require(LoopStore<String>.decode(world.disk)).state
      world.oracle.checkTheEnd(state, world.results)
      begun += world.oracle.begun.count
      notices += world.oracle.notices
    }
    // A world in which nothing happens proves nothing.
    #expect(begun > Self.seeds.count)
    #expect(notices > 0)
  }

  /// Plays a world until its loop is over: hundreds of accidents, and then none any more.
  private static func live(_ world: inout LoopWorld) throws {
    try world.start()
    for _ in 0..<300 where world.ending == nil { try step(&world) }
    world.presence = .present
    world.deliver(.presence(.present))
    for _ in 0..<2000 where world.ending == nil {
      if world.machine == nil { try world.start() }
      world.pass(60_000, fails: false)
    }
    #expect(world.ending != nil, "seed \(world.seed)")
    // What a kill at the very end has left.
    let isOver = LoopStore<String>.decode(world.disk)?.state.ending != nil
    if !isOver { Issue.record("the end is not stored, seed \(world.seed)") }
  }

  private static func step(_ world: inout LoopWorld) throws {
    if world.machine == nil, world.chance(60) { try world.start() }
    switch Int.random(in: 0..<100, using: &world.random) {
    case ..<40:
      world.pass(.random(in: 0...400_000, using: &world.random), fails: true)
    case ..<70:
      // A walk, or a drive.
      let speed = Double.random(in: 0...30, using: &world.random)
      for _ in 0..<10 where world.ending == nil {
        let ms = Int64.random(in: 1000...20_000, using: &world.random)
        world.pass(ms, fails: true)
        world.position += speed * Double(ms) / 1000
        world.locate(isGood: world.chance(80))
      }
    case ..<82:
      world.presence = [.present, .away].randomElement(using: &world.random)!
      world.deliver(.presence(world.presence))
    case ..<86: world.suspend(.random(in: 1000...20_000_000, using: &world.random))
    case ..<91: world.die()
    case ..<93: world.reboot(offFor: .random(in: 10_000...10_000_000, using: &world.random))
    case ..<99: world.jump(.random(in: -7_200_000...7_200_000, using: &world.random))
    default: if world.chance(10) { world.deliver(.stop) }
    }
  }
}
