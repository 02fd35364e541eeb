/// Everything that was declared and must be restored: applications, advertisements, agents, monitors, discoveries.
struct Registry: Sendable {
  struct Entry: Sendable {
    /// The presence of a registration in bluetoothd.
    enum Status: Sendable, Hashable {
      /// The caller that declares the registration still waits for its first attempt.
      case declared
      case established(AdapterInstance)
      /// The registration is missing, after so many failed attempts to restore it.
      case missing(failures: Int)
    }

    let registration: any Registration
    var status = Status.declared
    /// The presence of the adapter to which the last attempt was sent; `nil` when bluetoothd is known not to have the
    /// registration.
    var attempted: AdapterInstance?
    /// A Boolean value that indicates whether bluetoothd dropped the registration since the last attempt began.
    var wasDropped = false

    /// Returns `true` if the registration exists at this instance of its place.
    func isEstablished(at instance: AdapterInstance?) -> Bool { instance.map { status == .established($0) } ?? false }

    /// Returns `true` if bluetoothd may have the registration.
    func mayExist(at instance: AdapterInstance) -> Bool { attempted?.isSameAppearance(as: instance) ?? false }
  }

  private(set) var entries: [Int: Entry] = [:]
  /// What was withdrawn and must still be undone; it is not restored.
  private var withdrawn: [Int: Entry] = [:]
  private var nextID = 0
  /// A Boolean value that indicates whether everything was in place at the last check, and nothing was lost since.
  var isComplete = true
  /// The discovery that all scans of an adapter share; it is registered while there are any.
  var discoveries: [AdapterIdentity: any Registration] = [:]

  /// Adds a registration before its first attempt, so that nothing that happens meanwhile is missed.
  /// - Returns: The identifier to remove it with.
  mutating func declare(_ registration: any Registration) -> Int {
    defer { nextID += 1 }
    entries[nextID] = Entry(registration: registration)
    return nextID
  }

  /// Takes back a declaration: from now on it is not restored.
  /// - Returns: The registration; `nil` when it was taken back before.
  mutating func withdraw(_ id: Int) -> (any Registration)? {
    guard let entry = entries.removeValue(forKey: id) else { return nil }
    withdrawn[id] = entry
    return entry.registration
  }

  /// Everything that bluetoothd may have, also what is just being undone.
  var all: [Entry] { Array(entries.values) + Array(withdrawn.values) }

  /// Returns a registration that was withdrawn and is not undone yet.
  func entry(withdrawn id: Int) -> Entry? { withdrawn[id] }

  /// Removes a registration for good.
  mutating func remove(_ id: Int) -> Entry? {
    entries.removeValue(forKey: id) ?? withdrawn.removeValue(forKey: id)
  }

  /// Records that a request is about to be sent.
  mutating func attempts(_ id: Int, at instance: AdapterInstance) {
    update(id) { entry in
      entry.attempted = instance
      entry.wasDropped = false
    }
  }

  /// Records a successful attempt.
  /// - Parameter present: The presence of the adapter when the reply arrived: an adapter that came back while the
  ///   request was on its way may have served it.
  mutating func established(_ id: Int, at instance: AdapterInstance, present: AdapterInstance?) {
    update(id) { entry in
      entry.status = entry.wasDropped ? .missing(failures: 0) : .established(instance)
      // Also where it was dropped: that may be the late report of an earlier appearance.
      let isSame = present?.isSameAppearance(as: instance) ?? true
      entry.attempted = isSame ? instance : present
    }
  }

  /// Records a failed attempt.
  /// - Parameter isInDoubt: `true` if bluetoothd may have the registration nevertheless.
  /// - Returns: The number of failures in a row.
  @discardableResult
  mutating func failed(_ id: Int, isInDoubt: Bool) -> Int {
    var failures = 1
    update(id) { entry in
      if case .missing(let before) = entry.status { failures = before + 1 }
      if entry.status != .declared { entry.status = .missing(failures: failures) }
      if !isInDoubt { entry.attempted = nil }
    }
    return failures
  }

  /// Records that bluetoothd dropped a registration. It may have it nevertheless, by an attempt that the report has
  /// crossed.
  mutating func dropped(_ registration: any Registration) {
    for (id, entry) in entries where entry.registration === registration {
      update(id) { entry in
        entry.wasDropped = true
        if case .established = entry.status { entry.status = .missing(failures: 0) }
      }
    }
  }

  /// Changes an entry, also one that was withdrawn during an attempt.
  private mutating func update(_ id: Int, _ change: (inout Entry) -> Void) {
    if entries[id] != nil { change(&entries[id]!) } else if withdrawn[id] != nil { change(&withdrawn[id]!) }
  }
}
