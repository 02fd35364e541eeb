internal import DBus

/// What the monitor and its worker share. Only the monitor itself ends it, so nothing here keeps that.
final class PowerCore: Sendable {
  private struct State {
    var machine: PowerMachine
    var readers: [Int: BoundedStream<PowerUpdate>.Source] = [:]
    var nextReader = 0
    var hasEnded = false
  }

  let options: PowerMonitor.Options
  let folder: SupplyFolder
  /// Something may be new.
  let news: BoundedStream<Void>
  private let newsSource: BoundedStream<Void>.Source
  private let state: Lock<State>

  init(_ options: PowerMonitor.Options) {
    self.options = options
    folder = SupplyFolder(path: options.supplyFolder)
    (news, newsSource) = BoundedStream.make(limit: 1)
    state = Lock(State(machine: PowerMachine(lowPowerSetting: options.lowPowerMode)))
  }

  var newest: PowerUpdate? { state.withLock { $0.machine.newest } }

  /// The updates from now on, after the newest there is.
  func updates(limit: Int) -> BoundedStream<PowerUpdate> {
    let id = state.withLock { state in
      state.nextReader += 1
      return state.nextReader
    }
    let (stream, source) = BoundedStream.make(of: PowerUpdate.self, limit: limit) { [weak self] in
      _ = self?.state.withLock { $0.readers.removeValue(forKey: id) }
    }
    let hasEnded = state.withLock { state in
      // Under the lock, so that the newest comes first.
      if let newest = state.machine.newest { source.yield(newest) }
      if !state.hasEnded { state.readers[id] = source }
      return state.hasEnded
    }
    if hasEnded { source.finish() }
    return stream
  }

  func announceNews() { newsSource.yield(()) }

  /// Takes in what was read.
  func handle(_ supplies: SupplyReading, _ profile: ProfileReading?) {
    let now = options.wallClock()
    let (update, readers) = state.withLock { state in
      (state.machine.handle(supplies, profile, atMs: now), Array(state.readers.values))
    }
    if let update { for reader in readers { reader.yield(update) } }
  }

  func close() { newsSource.finish() }

  func end() {
    let readers = state.withLock { state in
      defer { state.readers = [:] }
      state.hasEnded = true
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }
}
