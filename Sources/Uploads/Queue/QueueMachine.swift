internal import Timing

/// The state machine that decides which item is uploaded when.
///
/// - A few items are uploaded at a time, the oldest first; every fourth time the newest, so that a long backlog does not
///   delay new items.
/// - An item that failed backs off alone. While no item reaches the server all wait, and one attempt at a time probes it.
/// - Items of an account without accepted credentials wait, and nothing counts as an attempt.
struct QueueMachine: Sendable {
  /// An active item: one that is to be uploaded and has not failed for good.
  fileprivate struct Item {
    let account: String
    /// The number of failures since the item was queued or a user retried it.
    var failures: Int
    var state = State.waiting

    enum State: Hashable {
      /// The item is ready and waits for a slot.
      case waiting
      /// An attempt is in progress, with credentials of this generation.
      case uploading(generation: Int)
      /// The item waits until an instant; after a refused permission it also waits for newer credentials.
      case backingOff(until: Duration, forbiddenTo: Int?)
    }
  }

  /// The credentials of an account and its items that are ready.
  fileprivate struct Account {
    var credentials: Credentials?
    /// The IDs of the items in the state `waiting`, in order.
    var waiting: [Int64] = []

    /// The generation to upload with at an instant; `nil` while there are no accepted credentials.
    func generation(at now: Duration) -> Int? {
      guard let credentials else { return nil }
      if let until = credentials.refusedUntil, now < until { return nil }
      return credentials.generation
    }
  }

  fileprivate struct Credentials {
    let generation: Int
    /// The instant until which they are not used again, because the server refused them.
    var refusedUntil: Duration?
    /// A Boolean value that indicates whether newer ones were requested in place of these.
    var isRefreshRequested = false
  }

  private enum Network {
    case reachable
    /// No attempt reached the server this many times in a row; the next probe is due at an instant.
    case unreachable(failures: Int, probeAt: Duration)
  }

  /// The delays between retries: 2, 4, 8, 16 and then every 30 s, each shortened by up to a quarter.
  static let backoff = Backoff(base: .seconds(2), limit: .seconds(30), jitter: 0.75...1)
  /// The time for which refused credentials are not used again while no others come: 15 min. Their permissions may have
  /// been changed on the server.
  static let refusalDelay = Duration.seconds(900)
  /// The number of starts after which the newest item has its turn.
  static let newestEvery = 4

  private var limit: Int
  private var items: [Int64: Item] = [:]
  private var accounts: [String: Account] = [:]
  /// The items that back off, in order of their instants.
  private var backingOff: [(until: Duration, id: Int64)] = []
  /// The items with an attempt in progress.
  private(set) var uploading: Set<Int64> = []
  private var network = Network.reachable
  private var isPaused = false
  /// A Boolean value that indicates whether no upload starts, because the network is to be spared.
  private(set) var isHeld = false
  private var starts = 0

  /// Creates a machine without items.
  /// - Parameter limit: The number of items uploaded at a time, 1 or more.
  init(limit: Int) { self.limit = max(limit, 1) }

  /// The IDs of the active items.
  var ids: [Int64] { Array(items.keys) }

  /// Returns the number of failures of an active item; `nil` for any other ID.
  func failures(of id: Int64) -> Int? { items[id]?.failures }

  /// The next instant at which time alone changes something; `nil` if none.
  var nextInstant: Duration? {
    var instants = accounts.values.compactMap { $0.waiting.isEmpty ? nil : $0.credentials?.refusedUntil }
    if let first = backingOff.first { instants.append(first.until) }
    if case .unreachable(_, let probeAt) = network, uploading.isEmpty { instants.append(probeAt) }
    return instants.min()
  }

  /// A Boolean value that indicates whether the last attempt did not reach the server.
  var isOffline: Bool { if case .unreachable = network { true } else { false } }

  /// The accounts with items that wait for a slot.
  var waitingAccounts: [String] { accounts.filter { !$0.value.waiting.isEmpty }.map(\.key) }

  /// Returns `true` if an account's items wait for credentials.
  func lacksCredentials(_ account: String) -> Bool {
    guard let credentials = accounts[account]?.credentials else { return true }
    return credentials.refusedUntil != nil
  }

  /// Returns `true` if items of an account wait for newer credentials, because the present ones do not permit them.
  func awaitsNewerCredentials(_ account: String) -> Bool {
    items.values.contains { item in
      guard item.account == account, case .backingOff(_, let forbiddenTo) = item.state else { return false }
      return forbiddenTo != nil
    }
  }

  /// Handles an event.
  /// - Parameters:
  ///   - event: The event.
  ///   - now: The present instant.
  ///   - random: The jitter of a delay, 0 to 1.
  /// - Returns: The actions to perform, in order.
  mutating func handle(_ event: Event, at now: Duration, random: Double = 0.5) -> [Action] {
    var actions: [Action] = []
    switch event {
    case .added(let id, let account, let failures): add(id, account, failures: failures)
    case .removed(let id):
      if uploading.contains(id) { actions.append(.cancel(id)) }
      remove(id)
    case .succeeded(let id):
      network = .reachable
      remove(id)
    case .failed(let id, let failure): actions += fail(id, failure, now, random)
    case .credentials(let name, let generation):
      if accounts[name]?.credentials?.generation != generation {
        accounts[name, default: Account()].credentials = Credentials(generation: generation)
      }
      wake { item, forbiddenTo in item.account == name && forbiddenTo.map { $0 < generation } == true }
    case .networkReturned:
      if case .unreachable(let failures, _) = network { network = .unreachable(failures: failures, probeAt: now) }
      wake { _, forbiddenTo in forbiddenTo == nil }
    case .limited(let count): limit = max(count, 1)
    case .paused(let paused): isPaused = paused
    case .held(let held): isHeld = held
    case .tick: break
    }
    wakeDue(now)
    return actions + startNext(now)
  }

  private mutating func add(_ id: Int64, _ account: String, failures: Int) {
    guard !uploading.contains(id) else { return }
    remove(id)
    items[id] = Item(account: account, failures: failures)
    enqueue(id)
  }

  private mutating func fail(_ id: Int64, _ failure: UploadFailure, _ now: Duration, _ random: Double) -> [Action] {
    guard var item = items[id], case .uploading(let generation) = item.state else { return [] }
    remove(id)
    if failure.kind != .network { network = .reachable }
    var delay: Duration?
    var actions: [Action] = []
    switch failure.kind {
    case .final: return [.giveUp(id, failure)]
    case .credentials:
      actions += refresh(item.account, generation)
      if accounts[item.account]?.credentials?.generation == generation {
        accounts[item.account]?.credentials?.refusedUntil = now + Self.refusalDelay
      }
      item.state = .waiting
    case .permission:
      actions += refresh(item.account, generation)
      item.state = .backingOff(until: now + Self.refusalDelay, forbiddenTo: generation)
    case .network:
      item.failures += 1
      delay = noteUnreachable(now, random)
      item.state = .waiting
    case .temporary:
      item.failures += 1
      let backoff = Self.backoff.delay(afterFailures: item.failures, random: random)
      delay = backoff
      item.state = .backingOff(until: now + backoff, forbiddenTo: nil)
    }
    insert(id, item)
    return actions + [.postpone(id, failures: item.failures, delay: delay, failure)]
  }

  private mutating func noteUnreachable(_ now: Duration, _ random: Double) -> Duration {
    var failures = 1
    if case .unreachable(let before, _) = network { failures += before }
    let delay = Self.backoff.delay(afterFailures: failures, random: random)
    network = .unreachable(failures: failures, probeAt: now + delay)
    return delay
  }

  /// Requests newer credentials once for those that are in progress; newer ones may have come while the attempt was in progress.
  private mutating func refresh(_ account: String, _ generation: Int) -> [Action] {
    guard let credentials = accounts[account]?.credentials, credentials.generation == generation,
      !credentials.isRefreshRequested
    else { return [] }
    accounts[account]?.credentials?.isRefreshRequested = true
    return [.refresh(account, generation: generation)]
  }

  private mutating func startNext(_ now: Duration) -> [Action] {
    var limit = limit
    if case .unreachable(_, let probeAt) = network {
      guard now >= probeAt else { return [] }
      limit = 1
    }
    var actions: [Action] = []
    while !isPaused, !isHeld, uploading.count < limit {
      let takesNewest = starts % Self.newestEvery == Self.newestEvery - 1
      let next = accounts.values.filter { $0.generation(at: now) != nil }
        .compactMap { takesNewest ? $0.waiting.last : $0.waiting.first }
      guard let id = takesNewest ? next.max() : next.min(), let account = items[id]?.account,
        let generation = accounts[account]?.generation(at: now), var item = remove(id)
      else { break }
      accounts[account]?.credentials?.refusedUntil = nil
      // A new attempt, perhaps 15 min later, requests newer ones when it is refused in its turn.
      accounts[account]?.credentials?.isRefreshRequested = false
      let start = Action.start(id, generation: generation)
      item.state = .uploading(generation: generation)
      insert(id, item)
      starts += 1
      actions.append(start)
    }
    return actions
  }

  // MARK: Items and the order they wait in

  /// Inserts an item in its state.
  private mutating func insert(_ id: Int64, _ item: Item) {
    items[id] = item
    switch item.state {
    case .waiting: enqueue(id)
    case .uploading: uploading.insert(id)
    case .backingOff(let until, _):
      backingOff.insert((until, id), at: backingOff.partitioningIndex { $0.until > until })
    }
  }

  /// Removes an item, whatever its state.
  @discardableResult private mutating func remove(_ id: Int64) -> Item? {
    guard let item = items.removeValue(forKey: id) else { return nil }
    switch item.state {
    case .waiting: accounts[item.account]?.dequeue(id)
    case .uploading: uploading.remove(id)
    case .backingOff(let until, _):
      let start = backingOff.partitioningIndex { $0.until >= until }
      if let index = backingOff[start...].firstIndex(where: { $0.id == id }) { backingOff.remove(at: index) }
    }
    return item
  }

  private mutating func enqueue(_ id: Int64) {
    guard let name = items[id]?.account else { return }
    items[id]?.state = .waiting
    accounts[name, default: Account()].enqueue(id)
  }

  private mutating func wakeDue(_ now: Duration) {
    let due = backingOff.partitioningIndex { $0.until > now }
    let woken = backingOff[..<due].map(\.id)
    backingOff.removeFirst(due)
    for id in woken { enqueue(id) }
  }

  /// Ends the waits of some items that back off.
  private mutating func wake(where isMeant: (Item, _ forbiddenTo: Int?) -> Bool) {
    var woken: [Int64] = []
    let items = items
    backingOff.removeAll { _, id in
      guard let item = items[id], case .backingOff(_, let forbiddenTo) = item.state, isMeant(item, forbiddenTo) else {
        return false
      }
      woken.append(id)
      return true
    }
    for id in woken { enqueue(id) }
  }
}

extension QueueMachine.Account {
  fileprivate mutating func enqueue(_ id: Int64) { waiting.insert(id, at: waiting.partitioningIndex { $0 >= id }) }

  fileprivate mutating func dequeue(_ id: Int64) {
    let index = waiting.partitioningIndex { $0 >= id }
    if index < waiting.count, waiting[index] == id { waiting.remove(at: index) }
  }
}

extension Array {
  /// Returns the index of the first element that belongs to the second part of an array in two parts.
  fileprivate func partitioningIndex(where isSecond: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isSecond(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
