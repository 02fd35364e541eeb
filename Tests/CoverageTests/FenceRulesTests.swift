import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("The rules of fences") struct FenceRulesTests {
  @Test("1–7: A run starts with a precise location, and not over Wi-Fi") func theGate() {
    #expect(FenceRules.obstacle(at: nil, over: .cellular) == .noLocation)
    for accuracy in [-1, 15.001, nil, .nan] {
      #expect(FenceRules.obstacle(at: FenceDriver.place(0, accuracy: accuracy), over: .cellular) == .imprecise)
    }
    for accuracy in [0, 15.0] {
      let place = FenceDriver.place(0, accuracy: accuracy)
      for network in [CoverageNetwork.cellular, .none, .unknown] {
        #expect(FenceRules.obstacle(at: place, over: network) == nil)
      }
      #expect(FenceRules.obstacle(at: place, over: .wifi) == .wifi)
    }
    #expect(FenceRules.obstacle(at: FenceDriver.place(0, accuracy: 20), over: .wifi) == .imprecise)
  }

  @Test(
    "96, 98: The radius fits the error of the location and the way of a second",
    arguments: [(8.0, 4.0, 26.0), (2, nil, 15), (0, 0, 15), (nil, 40, 40), (15, 3, 40), (2.5, nil, 15), (3, nil, 16)]
      as [(Double?, Double?, Double)])
  func radius(_ accuracy: Double?, _ speed: Double?, _ radius: Double) throws {
    let place = try #require(CoverageLocation(latitude: 0, longitude: 0, accuracy: accuracy, speed: speed))
    #expect(FenceRules.radius(at: place) == radius)
  }

  @Test("Figures that no receiver can mean are unknown") func absurdFigures() throws {
    #expect(CoverageLocation(latitude: 91, longitude: 0) == nil)
    #expect(CoverageLocation(latitude: .nan, longitude: 0) == nil)
    let place = try #require(
      CoverageLocation(
        latitude: 1, longitude: 2, accuracy: -1, altitude: .infinity, bearing: 1e300, speed: .nan))
    #expect(place == CoverageLocation(latitude: 1, longitude: 2))
  }

  @Test("100–104: The colour is that of the technology, and grey without coverage") func colors() throws {
    let place = try #require(FenceDriver.place(0))
    var fence = Fence(number: 1, place: place, radius: 15, entered: .zero, technology: .lte)
    #expect(fence.color == "00DEFF")
    #expect(fence.coverage == .pending(.lte))
    fence.pings.add(PingResult(at: .zero, roundTrip: nil))
    #expect(fence.coverage == .none)
    #expect(fence.color == "A0A0A0")
    fence.pings.add(PingResult(at: .zero, roundTrip: .milliseconds(20)))
    #expect(fence.coverage == .covered(.lte))
    fence.technology = .none
    #expect(fence.color == "A0A0A0")
    fence.technology = .unknown
    #expect(fence.coverage == .covered(.unknown))
  }

  @Test("108–110: The label is the mean of the last whole second") func theLabel() {
    var latest = LatestPings(start: .zero)
    #expect(latest.label(at: .seconds(5)) == .notAvailable)
    latest.add(PingResult(at: .milliseconds(100), roundTrip: .milliseconds(10)))
    latest.add(PingResult(at: .milliseconds(200), roundTrip: nil))
    #expect(latest.label(at: .milliseconds(900)) == .pending)
    latest.add(PingResult(at: .milliseconds(900), roundTrip: .milliseconds(30)))
    #expect(latest.label(at: .milliseconds(1000)) == .mean(20))
    latest.add(PingResult(at: .milliseconds(1100), roundTrip: .milliseconds(50)))
    #expect(latest.label(at: .milliseconds(1500)) == .mean(20))
    // A late one of the second before.
    latest.add(PingResult(at: .milliseconds(950), roundTrip: .milliseconds(50)))
    #expect(latest.label(at: .milliseconds(1500)) == .mean(30))
    #expect(latest.label(at: .milliseconds(2000)) == .mean(50))
    latest.add(PingResult(at: .milliseconds(2100), roundTrip: nil))
    #expect(latest.label(at: .milliseconds(3000)) == .pending)
  }
}
