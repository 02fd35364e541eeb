import DBus

/// The handlers that are called for every change of the object cache.
struct Observers: Sendable {
  typealias Handler = @Sendable (ObjectCache.Change) -> Void

  private var handlers: [Int: Handler] = [:]
  private var nextID = 0

  /// The handlers that are registered now, to be called outside the lock.
  var all: [Handler] { Array(handlers.values) }

  mutating func add(_ handler: @escaping Handler) -> Int {
    defer { nextID += 1 }
    handlers[nextID] = handler
    return nextID
  }

  mutating func remove(_ id: Int) { handlers[id] = nil }
}

/// The pairings that this session starts or admits.
struct PairingState: Sendable {
  /// The adapters with an open pairing window of this session.
  var windows: Set<BluetoothAddress> = []
  /// The devices that this session is pairing with on its own initiative.
  var devices: Set<ObjectPath> = []
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
