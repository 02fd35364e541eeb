import DBus

/// The handlers that are called for every change of the object cache.
struct Observers: Sendable {
  typealias Handler = @Sendable (ObjectCache.Change) -> Void

  private var handlers: [Int: Handler] = [:]
  private var endings: [Int: @Sendable () -> Void] = [:]
  private var nextID = 0

  /// The handlers that are registered now, to be called outside the lock.
  var all: [Handler] { Array(handlers.values) }

  mutating func add(_ handler: @escaping Handler) -> Int {
    defer { nextID += 1 }
    handlers[nextID] = handler
    return nextID
  }

  /// Adds a closure for the end of the session.
  mutating func add(onClose ending: @escaping @Sendable () -> Void) -> Int {
    defer { nextID += 1 }
    endings[nextID] = ending
    return nextID
  }

  mutating func remove(_ id: Int) {
    handlers[id] = nil
    endings[id] = nil
  }

  /// Removes everything, at the end of the session.
  /// - Returns: The handlers, and the closures for the end, to be called outside the lock.
  mutating func removeAll() -> (handlers: [Handler], endings: [@Sendable () -> Void]) {
    defer { self = Observers(nextID: nextID) }
    return (all, Array(endings.values))
  }

  init() {}

  private init(nextID: Int) { self.nextID = nextID }
}

/// The pairings that this session starts or admits.
struct PairingState: Sendable {
  /// The adapters with an open pairing window of this session.
  var windows: Set<AdapterIdentity> = []
  /// The object of the agent of this session, of which bluetoothd accepts one.
  var agentPlace: ObjectPath?
  /// The devices that this session is pairing with on its own initiative.
  var devices: Set<ObjectPath> = []
  /// The object of the session's agent, if that displays or enters something.
  var agent: ObjectPath?
}

/// The connections that this session is closing.
struct Disconnections: Sendable {
  /// The number of parts of the session that are closing the connection to a device.
  private var counts: [ObjectPath: Int] = [:]
  /// The longest time to wait for a peer's ATT response before its connection may be closed; `nil` for not at all.
  var responseTimeout = KernelRelease.responseTimeout

  func isUnderWay(_ device: ObjectPath) -> Bool { counts[device] != nil }

  mutating func begin(_ device: ObjectPath) { counts[device, default: 0] += 1 }

  mutating func end(_ device: ObjectPath) {
    let left = counts[device, default: 1] - 1
    counts[device] = left == 0 ? nil : left
  }
}

/// The results of finding out the release of bluetoothd.
struct ReleaseLookup: Sendable {
  /// The lookup for one instance of bluetoothd.
  struct Pending: Sendable {
    let generation: Int
    let answer: Task<BlueZRelease?, Never>
  }

  /// The release that a program printed.
  struct Known: Sendable {
    let program: ProgramFile
    let release: BlueZRelease
  }

  var pending: Pending?
  /// The program that was asked last.
  var known: Known?
}
