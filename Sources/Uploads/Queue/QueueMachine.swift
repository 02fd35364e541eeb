/// Decides which item is uploaded when: events go in, actions come out. It has no clock and does no I/O.
///
/// - At most a few items at once; the oldest first, and every fourth time the newest, so that a long backlog does not
///   keep what was just recorded waiting.
/// - An item that failed waits for itself alone. When nobody can reach the server all wait, and one finds out.
/// - Without credentials that the server takes nothing of that account is tried, and nothing counts as an attempt.
struct QueueMachine: Sendable {
  enum Event: Sendable, Hashable {
    /// An item is to be uploaded; also one that a person wants tried again.
    case added(Int64, account: String, attempts: Int)
    /// An item is not to be uploaded, or no longer.
    case removed(Int64)
    /// An upload has ended well.
    case succeeded(Int64)
    /// An upload has failed.
    case failed(Int64, FailureKind)
    /// An account has credentials; each new set has a higher number.
    case credentials(String, generation: Int)
    /// There is a way out to the network again.
    case networkReturned
    /// Everything is held, or goes on.
    case paused(Bool)
    /// Time has gone on.
    case tick
  }

  enum Action: Sendable, Hashable {
    /// Upload it; the number is of the credentials it is done with.
    case start(Int64, generation: Int)
    /// Stop uploading it.
    case cancel(Int64)
    /// Ask for an account's credentials anew: those with this number are not taken.
    case refresh(String, generation: Int)
    /// Note how often it was tried, and how long it waits; without a time, for credentials.
    case postpone(Int64, attempts: Int, delay: Duration?)
    /// It has failed for good.
    case bury(Int64)
  }

  private struct Item {
    let account: String
    var attempts: Int
    var place = Place.ready
    /// The credentials that did not allow it.
    var refused = 0
    /// Those it is, or was last, tried with.
    var generation = 0
  }

  private enum Place: Hashable {
    case ready
    case running
    case waiting(Duration)
  }

  private struct Account {
    /// Ids in order.
    var ready: [Int64] = []
    /// The number of the credentials; 0 while there are none.
    var generation = 0
    /// The number of those that the server does not take, and until when they are not tried again.
    var refused = 0
    var refusedUntil = Duration.zero
    /// The number of those for which others were asked for.
    var refreshed = -1
  }

  /// How long credentials that were refused are left alone when no others come: somebody may have changed what they
  /// allow, on the server.
  static let refusalPause = Duration.seconds(900)
  /// Every so often the newest item is taken.
  static let newestEvery = 4

  private let limit: Int
  private var items: [Int64: Item] = [:]
  private var accounts: [String: Account] = [:]
  /// In order of time.
  private var waiting: [(until: Duration, id: Int64)] = []
  private(set) var running: Set<Int64> = []
  private var isPaused = false
  private var started = 0
  /// How often in a row nobody could reach the server, and until when nobody tries.
  private var networkFailures = 0
  private var networkUntil = Duration.zero

  /// - Parameter limit: how many are uploaded at once, 1 or more.
  init(limit: Int) { self.limit = max(limit, 1) }

  /// The items there are.
  var ids: [Int64] { Array(items.keys) }

  /// How often an item has failed; `nil` when there is none of this number.
  func attempts(of id: Int64) -> Int? { items[id]?.attempts }

  /// When something may change by itself; `nil` when nothing will.
  var nextInstant: Duration? {
    var instants: [Duration] = []
    if let first = waiting.first { instants.append(first.until) }
    if networkFailures > 0, running.isEmpty { instants.append(networkUntil) }
    instants += accounts.values.compactMap { account in
      account.refused > 0 && account.refused == account.generation && !account.ready.isEmpty
        ? account.refusedUntil : nil
    }
    return instants.min()
  }

  /// Whether nobody could reach the server last.
  var isOffline: Bool { networkFailures > 0 }

  /// The accounts with items that could be uploaded now.
  var readyAccounts: [String] { accounts.filter { !$0.value.ready.isEmpty }.map(\.key) }

  /// Whether an account's items wait for credentials.
  func lacksCredentials(_ account: String) -> Bool {
    guard let account = accounts[account] else { return true }
    return account.generation == 0 || account.generation == account.refused
  }

  /// Takes an event in.
  /// - Parameters:
  ///   - now: the present instant.
  ///   - random: 0 to 1.
  mutating func handle(_ event: Event, at now: Duration, random: Double = 0.5) -> [Action] {
    var actions: [Action] = []
    switch event {
    case .added(let id, let account, let attempts):
      if let known = items[id], known.place == .running { break }
      forget(id)
      items[id] = Item(account: account, attempts: attempts)
      makeReady(id)
    case .removed(let id):
      if running.contains(id) { actions.append(.cancel(id)) }
      forget(id)
    case .succeeded(let id):
      networkFailures = 0
      forget(id)
    case .failed(let id, let kind): actions += failed(id, kind, now, random)
    case .credentials(let name, let generation):
      accounts[name, default: Account()].generation = generation
      wake { $0.account == name && $0.refused > 0 && $0.refused < generation }
    case .networkReturned:
      networkUntil = now
      wake { $0.refused == 0 }
    case .paused(let paused): isPaused = paused
    case .tick: break
    }
    wakeDue(now)
    return actions + starts(now)
  }

  private mutating func failed(_ id: Int64, _ kind: FailureKind, _ now: Duration, _ random: Double) -> [Action] {
    guard var item = items[id], item.place == .running else { return [] }
    running.remove(id)
    if kind != .network { networkFailures = 0 }
    var account = accounts[item.account] ?? Account()
    defer { accounts[item.account] = account }
    var actions: [Action] = []
    func refresh() {
      // Once for each set of credentials; newer ones may have come while this one was on its way.
      guard account.refreshed < item.generation, account.generation == item.generation else { return }
      account.refreshed = item.generation
      actions.append(.refresh(item.account, generation: item.generation))
    }
    switch kind {
    case .final:
      items[id] = nil
      return [.bury(id)]
    case .credentials:
      account.refused = max(account.refused, item.generation)
      account.refusedUntil = now + Self.refusalPause
      refresh()
      item.place = .ready
      account.ready.insert(id, at: account.ready.place(of: id))
      actions.append(.postpone(id, attempts: item.attempts, delay: nil))
    case .permission:
      item.refused = item.generation
      refresh()
      wait(id, &item, until: now + Self.refusalPause)
      actions.append(.postpone(id, attempts: item.attempts, delay: nil))
    case .network:
      item.attempts += 1
      networkFailures += 1
      let delay = RetryDelay.after(failures: networkFailures, random: random)
      networkUntil = now + delay
      item.place = .ready
      account.ready.insert(id, at: account.ready.place(of: id))
      actions.append(.postpone(id, attempts: item.attempts, delay: delay))
    case .temporary:
      item.attempts += 1
      let delay = RetryDelay.after(failures: item.attempts, random: random)
      wait(id, &item, until: now + delay)
      actions.append(.postpone(id, attempts: item.attempts, delay: delay))
    }
    items[id] = item
    return actions
  }

  private mutating func starts(_ now: Duration) -> [Action] {
    var actions: [Action] = []
    // One finds out whether the server is back.
    let limit = networkFailures > 0 ? 1 : limit
    while !isPaused, running.count < limit, networkFailures == 0 || now >= networkUntil {
      let takesNewest = started % Self.newestEvery == Self.newestEvery - 1
      let open = accounts.filter { _, account in
        !account.ready.isEmpty && account.generation > 0
          && (account.generation > account.refused || now >= account.refusedUntil)
      }
      let next = open.compactMap { takesNewest ? $0.value.ready.last : $0.value.ready.first }
      guard let id = takesNewest ? next.max() : next.min(), let name = items[id]?.account else { break }
      var account = accounts[name] ?? Account()
      account.ready.remove(at: account.ready.place(of: id))
      if account.refused == account.generation { account.refused = 0 }
      accounts[name] = account
      items[id]?.place = .running
      items[id]?.generation = account.generation
      items[id]?.refused = 0
      running.insert(id)
      started += 1
      actions.append(.start(id, generation: account.generation))
    }
    return actions
  }

  private mutating func wait(_ id: Int64, _ item: inout Item, until instant: Duration) {
    item.place = .waiting(instant)
    let index = waiting.firstIndex { $0.until > instant } ?? waiting.count
    waiting.insert((instant, id), at: index)
  }

  private mutating func wakeDue(_ now: Duration) {
    while let first = waiting.first, first.until <= now {
      waiting.removeFirst()
      makeReady(first.id)
    }
  }

  private mutating func wake(where isMeant: (Item) -> Bool) {
    let woken = waiting.filter { entry in items[entry.id].map(isMeant) ?? true }.map(\.id)
    guard !woken.isEmpty else { return }
    let ids = Set(woken)
    waiting.removeAll { ids.contains($0.id) }
    for id in woken { makeReady(id) }
  }

  private mutating func makeReady(_ id: Int64) {
    guard let name = items[id]?.account else { return }
    items[id]?.place = .ready
    var ready = accounts[name]?.ready ?? []
    accounts[name, default: Account()].ready = []
    ready.insert(id, at: ready.place(of: id))
    accounts[name]?.ready = ready
  }

  private mutating func forget(_ id: Int64) {
    guard let item = items.removeValue(forKey: id) else { return }
    running.remove(id)
    switch item.place {
    case .running: break
    case .waiting: waiting.removeAll { $0.id == id }
    case .ready:
      let place = accounts[item.account]?.ready.place(of: id) ?? 0
      if let ready = accounts[item.account]?.ready, place < ready.count, ready[place] == id {
        accounts[item.account]?.ready.remove(at: place)
      }
    }
  }
}

extension [Int64] {
  /// Where a number is, or belongs, in numbers that are in order.
  fileprivate func place(of number: Int64) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
