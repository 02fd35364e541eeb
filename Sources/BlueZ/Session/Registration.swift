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
  /// The lane in which registrations of its kind begin and end, one after the other.
  var lane: RegistrationLane { get }
  /// The way to undo the registration, which outlives its handle.
  var undoing: Undoing { get }

  /// Registers with bluetoothd unless that was done, at an adapter's object or at bluetoothd's own.
  func establish(on connection: Connection, at path: ObjectPath) async throws
}

extension Registration {
  var lane: RegistrationLane { .manager(manager, place) }
}

/// The object of bluetoothd that a registration belongs to.
enum RegistrationPlace: Sendable, Hashable, CustomStringConvertible {
  case adapter(AdapterIdentity)
  /// bluetoothd itself, whatever adapters there are.
  case service

  var description: String {
    switch self {
    case .adapter(let identity): "the adapter \(identity)"
    case .service: "bluetoothd"
    }
  }
}

/// The registrations of which one begins or ends only after the step before it is over.
///
/// So the end of a registration waits for its beginning or restoration, and a registration that follows the end of
/// another finds its place free.
enum RegistrationLane: Sendable, Hashable {
  /// Agents and pairing windows, which change the same property of the adapters.
  case pairing
  /// The registrations with one interface of one object.
  case manager(String, RegistrationPlace)
}

/// The way to undo a registration at the object where it was made.
struct Undoing: Sendable {
  typealias Body = @Sendable (SessionCore, ObjectPath) async throws -> Void

  let body: Body
  /// The properties of the place that bluetoothd would keep after the program has left: they are set when the session
  /// ends before this was undone.
  let leftovers: [Leftover]

  /// A property of the registration's place, and its value without the registration.
  struct Leftover: Sendable {
    let interface: String
    let property: String
    let value: Value
  }

  init(leftovers: [Leftover] = [], _ body: @escaping Body) {
    self.leftovers = leftovers
    self.body = body
  }

  /// Calls a method that takes the registered object.
  init(_ manager: String, _ member: String, _ object: ObjectPath, _ title: String) {
    leftovers = []
    body = { core, path in
      try await core.call(path, manager, member, [.objectPath(object)], doing: "unregistering \(title)")
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
  let lane: RegistrationLane
  let undoing: Undoing

  init(_ target: any Registration) {
    self.target = target
    title = target.title
    place = target.place
    manager = target.manager
    needsPower = target.needsPower
    order = target.order
    lane = target.lane
    undoing = target.undoing
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

  /// Returns `true` if bluetoothd has kept its registrations from one to the other: a power cycle does not end them.
  func isSameAppearance(as other: AdapterInstance) -> Bool {
    generation == other.generation && path == other.path && appearance == other.appearance
  }
}
