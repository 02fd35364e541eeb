import DBus

/// Something that must exist in bluetoothd as long as its handle does: an application, an advertisement, an agent.
protocol Registration: AnyObject, Sendable {
  /// The description for logs and errors: "advertisement 'EdgeBlue'".
  var title: String { get }
  /// The object of bluetoothd that the registration belongs to.
  var place: RegistrationPlace { get }
  /// The interface that the registration is made with.
  var manager: String { get }
  /// The position when several are restored: services before the advertisement that attracts the centrals.
  var order: Int { get }
  /// A Boolean value that indicates whether the adapter must be switched on first.
  var needsPower: Bool { get }

  /// Registers with bluetoothd unless that was done, at an adapter's object or at bluetoothd's own.
  func establish(on connection: Connection, at path: ObjectPath) async throws
}

/// The object of bluetoothd that a registration belongs to.
enum RegistrationPlace: Sendable, Hashable, CustomStringConvertible {
  /// An adapter, which keeps its address when it comes back under another name.
  case adapter(BluetoothAddress)
  /// bluetoothd itself, whatever adapters there are.
  case service

  var description: String {
    switch self {
    case .adapter(let address): "the adapter \(address)"
    case .service: "bluetoothd"
    }
  }
}

/// Stands in for an object in the registry without keeping that object alive.
final class ForwardingRegistration: Registration {
  private weak let target: (any Registration)?
  let title: String
  let place: RegistrationPlace
  let manager: String
  let needsPower: Bool
  let order: Int

  init(_ target: any Registration) {
    self.target = target
    title = target.title
    place = target.place
    manager = target.manager
    needsPower = target.needsPower
    order = target.order
  }

  func establish(on connection: Connection, at path: ObjectPath) async throws {
    try await target?.establish(on: connection, at: path)
  }
}

/// One presence of an adapter: from its appearance, or from being switched on for what needs power, to its end.
/// bluetoothd as a place is present once in each generation.
struct AdapterInstance: Sendable, Hashable {
  let generation: Int
  let path: ObjectPath
  let appearance: Int
  let powerUp: Int
}

/// Everything that was declared and must be restored: applications, advertisements, agents, monitors, discoveries.
struct Registry: Sendable {
  struct Entry: Sendable {
    /// The presence of a registration in bluetoothd.
    enum Status: Sendable, Hashable {
      case established(AdapterInstance)
      /// The registration is missing, after so many failed attempts to restore it.
      case missing(failures: Int)
    }

    let registration: any Registration
    var status: Status

    /// Returns `true` if the registration exists at this instance of its place.
    func isEstablished(at instance: AdapterInstance?) -> Bool { instance.map { status == .established($0) } ?? false }
  }

  private(set) var entries: [Int: Entry] = [:]
  private var nextID = 0
  /// A Boolean value that indicates whether everything was in place at the last check, and nothing was lost since.
  var isComplete = true
  /// The discovery that all scans of an adapter share; it is registered while there are any.
  var discoveries: [BluetoothAddress: any Registration] = [:]

  /// Adds a registration that was just established.
  /// - Returns: The identifier to remove it with.
  mutating func add(_ registration: any Registration, at instance: AdapterInstance) -> Int {
    defer { nextID += 1 }
    entries[nextID] = Entry(registration: registration, status: .established(instance))
    return nextID
  }

  mutating func remove(_ id: Int) -> Entry? { entries.removeValue(forKey: id) }

  mutating func established(_ id: Int, at instance: AdapterInstance) {
    entries[id]?.status = .established(instance)
  }

  /// Records a failed attempt to restore.
  /// - Returns: The number of failures in a row.
  mutating func failed(_ id: Int) -> Int {
    guard let entry = entries[id] else { return 1 }
    let failures = if case .missing(let failures) = entry.status { failures + 1 } else { 1 }
    entries[id]?.status = .missing(failures: failures)
    return failures
  }

  /// Records that bluetoothd dropped a registration.
  mutating func dropped(_ registration: any Registration) {
    for (id, entry) in entries where entry.registration === registration {
      if case .established = entry.status { entries[id]?.status = .missing(failures: 0) }
    }
  }
}
