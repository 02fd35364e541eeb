/// The fences of a run: which one is active, what belongs to which, and when they are stored.
package struct FenceMachine: Sendable {
  package enum Event: Sendable {
    /// A location was measured.
    case location(CoverageLocation)
    /// The source of locations has none.
    case locationLost
    /// The mobile network is of another technology.
    case technology(CoverageTechnology)
    /// Packets take another kind of network.
    case network(CoverageNetwork)
    /// A ping was completed.
    case ping(PingResult)
    /// The control server has granted a session.
    case session(String)
    /// Time has passed.
    case tick
    /// The run ends.
    case stop
  }

  package enum Action: Sendable, Hashable {
    /// Store a fence for the first time, in the present session.
    case add(Fence)
    /// Store what has changed of a fence, in its session.
    case update(Fence)
    /// Remove a stored fence, which is dirty.
    case remove(number: Int)
    /// Store the identifier of the present session, which has none or the same, and anchor it at this instant.
    case assign(String)
    /// End the present session at this instant, and begin another one.
    case begin(String)
    /// End the present session: the run is over.
    case finalise
    /// End the run: no precise location came in time.
    case giveUp
  }

  /// The instants of the run.
  private struct Times: Hashable {
    var start: Duration
    /// The instant at which the active fence was stored, or entered.
    var checkpoint = Duration.zero
    var hasGivenUp = false
  }

  private var times: Times
  private var network: CoverageNetwork
  private var technology: CoverageTechnology
  /// The identifier of the present session; `nil` before the first one.
  package private(set) var session: String?
  /// The active fence.
  package private(set) var active: Fence?
  private var isActiveStored = false
  /// The fences that were left just now, the oldest first, and whether they have changed since they were stored.
  private var left: [(fence: Fence, isChanged: Bool)] = []
  private var windows = InaccurateWindows()
  private var newest: CoverageLocation?
  private var hasBeenPrecise = false
  private var isOver = false
  /// The number of fences so far, dirty ones included.
  package private(set) var count = 0

  /// The time after which no ping of a fence that was left can be completed any more.
  static let settling = Duration.seconds(2)
  /// The interval at which the active fence is stored, so that a crash takes no more than that.
  static let checkpointInterval = Duration.seconds(10)

  /// Creates the fences of a run that starts now.
  package init(network: CoverageNetwork, technology: CoverageTechnology, at start: Duration) {
    times = Times(start: start)
    self.network = network
    self.technology = technology
  }

  /// Passes an event at an instant, which is never earlier than that of the one before.
  package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    guard !isOver else { return [] }
    var actions: [Action] = []
    settle(before: now - Self.settling, &actions)
    switch event {
    case .location(let location): take(location, at: now, &actions)
    case .locationLost:
      newest = nil
      windows.open(at: now)
    case .technology(let technology): self.technology = technology
    case .network(let network): change(to: network, at: now, &actions)
    case .ping(let ping): take(ping)
    case .session(let session): begin(session, at: now, &actions)
    case .tick: break
    case .stop: return stop(at: now, &actions)
    }
    checkpoint(at: now, &actions)
    giveUp(at: now, &actions)
    return actions
  }

  private mutating func stop(at now: Duration, _ actions: inout [Action]) -> [Action] {
    close(at: now, &actions)
    settle(before: .seconds(Int64.max / 2), &actions)
    isOver = true
    return actions + [.finalise]
  }

  // MARK: Locations

  private mutating func take(_ location: CoverageLocation, at now: Duration, _ actions: inout [Action]) {
    newest = location
    guard FenceRules.isPrecise(location) else {
      windows.open(at: now)
      return
    }
    hasBeenPrecise = true
    windows.close(at: now)
    if let active, !FenceRules.leaves(active, to: location) {
      self.active?.technology = technology
      return
    }
    close(at: now, &actions)
    count += 1
    var fence = Fence(
      number: count, place: location, radius: FenceRules.radius(at: location), entered: now, technology: technology)
    fence.isDirty = network == .wifi
    active = fence
    isActiveStored = false
    times.checkpoint = now
  }

  /// Closes the active fence and stores it, unless it is dirty.
  private mutating func close(at now: Duration, _ actions: inout [Action]) {
    guard var fence = active else { return }
    active = nil
    fence.exited = now
    if !fence.isDirty { actions.append(isActiveStored ? .update(fence) : .add(fence)) }
    left.append((fence, false))
  }

  /// Stores the fences whose last pings have come after they were left.
  private mutating func settle(before instant: Duration, _ actions: inout [Action]) {
    while let oldest = left.first, let exited = oldest.fence.exited, exited <= instant {
      left.removeFirst()
      if oldest.isChanged, !oldest.fence.isDirty { actions.append(.update(oldest.fence)) }
    }
  }

  private mutating func checkpoint(at now: Duration, _ actions: inout [Action]) {
    guard let fence = active, !fence.isDirty, now >= times.checkpoint + Self.checkpointInterval else { return }
    actions.append(isActiveStored ? .update(fence) : .add(fence))
    isActiveStored = true
    times.checkpoint = now
  }

  private mutating func giveUp(at now: Duration, _ actions: inout [Action]) {
    guard !hasBeenPrecise, !times.hasGivenUp, now >= times.start + FenceRules.patience else { return }
    times.hasGivenUp = true
    actions.append(.giveUp)
  }

  // MARK: Pings, network and sessions

  private mutating func take(_ ping: PingResult) {
    guard !windows.contain(ping.at) else { return }
    if active?.contains(ping.at) == true {
      active?.pings.add(ping)
    } else if let index = left.lastIndex(where: { $0.fence.contains(ping.at) }) {
      left[index].fence.pings.add(ping)
      left[index].isChanged = true
    }
  }

  private mutating func change(to new: CoverageNetwork, at now: Duration, _ actions: inout [Action]) {
    let isSwitch = (network == .wifi) != (new == .wifi)
    network = new
    guard isSwitch, active != nil else { return }
    active?.isDirty = true
    if isActiveStored, let number = active?.number { actions.append(.remove(number: number)) }
    isActiveStored = false
    // The next location begins a clean fence, also if it is near.
    if new != .wifi { close(at: now, &actions) }
  }

  private mutating func begin(_ new: String, at now: Duration, _ actions: inout [Action]) {
    if session == nil || session == new {
      actions.append(.assign(new))
    } else {
      close(at: now, &actions)
      actions.append(.begin(new))
    }
    session = new
  }

  // MARK: Display

  /// Returns what a person should be warned of at an instant.
  package func warnings(at now: Duration) -> Set<CoverageWarning> {
    guard !isOver else { return [] }
    var warnings: Set<CoverageWarning> = []
    if network == .wifi { warnings.insert(.wifi) }
    if now >= times.start + FenceRules.warningDelay, let newest, !FenceRules.isPrecise(newest) {
      warnings.insert(.imprecise)
    }
    return warnings
  }

  /// The instant at which time alone changes something next; `nil` if none does.
  package var nextInstant: Duration? {
    guard !isOver else { return nil }
    var instants = left.first.flatMap { $0.fence.exited }.map { [$0 + Self.settling] } ?? []
    if let active, !active.isDirty { instants.append(times.checkpoint + Self.checkpointInterval) }
    if !hasBeenPrecise, !times.hasGivenUp { instants.append(times.start + FenceRules.patience) }
    return instants.min()
  }
}

/// A reason for which what is measured does not count.
public enum CoverageWarning: String, Sendable, Hashable, Codable, CaseIterable {
  /// The newest location is imprecise.
  case imprecise
  /// Packets go over Wi-Fi, which is not measured.
  case wifi
}
