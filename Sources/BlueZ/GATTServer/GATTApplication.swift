import DBus
import Streams

/// A set of GATT services that is offered as long as this object lives, or until ``unregister()``.
public final class GATTApplication: Registration {
  /// What is offered, with all that is included, in the order bluetoothd got it.
  public var services: [LocalService] { offered + additions.withLock { $0 }.flatMap(\.services) }

  /// What one registration offers.
  private let offered: [LocalService]
  /// What was added later, each a registration of its own.
  private let additions = Lock<[GATTApplication]>([])
  let place: RegistrationPlace
  let manager = "org.bluez.GattManager1"
  let needsPower = false
  let order = 0
  var title: String { "the services \(offered.map(\.uuid.description).joined(separator: ", "))" }

  private let session: Session
  private let adapter: BluetoothAddress
  private let root: ObjectPath
  private let state = Lock(State())

  private struct State {
    var id: Int?
    var connection: Connection?
    var objects: [ExportedObject] = []
    var observer: Int?
  }

  private static let counter = Lock(0)

  init(session: Session, adapter: BluetoothAddress, services: [LocalService]) {
    self.session = session
    self.adapter = adapter
    place = .adapter(adapter)
    offered = services.withIncluded
    let number = Self.counter.withLock { counter in
      counter += 1
      return counter
    }
    root = ObjectPath(stringLiteral: "/org/edgeblue/application\(number)")
  }

  deinit {
    let (id, observer) = state.withLock { ($0.id, $0.observer) }
    if let observer { session.core.stopObserving(observer) }
    let core = session.core
    let placement = placement
    Task { await core.takeDownQuietly(id, placement) }
    reset()
  }

  func start() async throws {
    let core = session.core
    let observer = core.observe { [weak self] change in
      // The sockets end by themselves; what was only remembered must be forgotten here.
      if case .serviceDown = change { self?.reset() }
    }
    state.withLock { $0.observer = observer }
    let id = try await core.register(ForwardingRegistration(self))
    state.withLock { $0.id = id }
  }

  /// Offers more services beside those offered so far, as long as this object lives.
  ///
  /// bluetoothd reads what a registration offers once, so these get one of their own, and nobody who uses the others
  /// notices. It tells the centrals that its services changed (Core Specification 3.G.7.1).
  /// - Throws: ``BlueZError``: `.invalidArgument` when a service is offered already, or includes one that is (bluetoothd
  ///   includes nothing of another registration); else as ``Adapter/offer(_:)``.
  public func add(_ services: [LocalService]) async throws {
    let known = self.services
    if let twice = services.withIncluded.first(where: { new in known.contains { $0 === new } }) {
      throw BlueZError(.invalidArgument, "the service \(twice.uuid) is offered already")
    }
    let addition = GATTApplication(session: session, adapter: adapter, services: services)
    try await addition.start()
    additions.withLock { $0.append(addition) }
  }

  /// Takes services away that were offered by one ``add(_:)``. Centrals that use them lose them, and nobody else.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the service was not added alone or with others; what
  ///   ``unregister()`` throws.
  public func remove(_ service: LocalService) async throws {
    let addition = additions.withLock { additions in
      additions.firstIndex { $0.offered.contains { $0 === service } }.map { additions.remove(at: $0) }
    }
    guard let addition else {
      throw BlueZError(.invalidArgument, "the service \(service.uuid) was not added", hint: "use `unregister()`")
    }
    try await addition.unregister()
  }

  private var placement: Placement {
    Placement(manager: manager, member: "UnregisterApplication", object: root, title: title)
  }

  /// Takes the services away. Centrals that use them lose them. Where the adapter or bluetoothd is gone they are gone
  /// with it.
  /// - Throws: ``BlueZError`` when bluetoothd refuses; the services are gone from this program all the same.
  public func unregister() async throws {
    for addition in additions.withLock({ $0 }) { try await addition.unregister() }
    additions.withLock { $0 = [] }
    let id = state.withLock { state in
      defer { state.id = nil }
      return state.id
    }
    guard let id else { return }
    defer {
      state.withLock { $0.objects = [] }
      reset()
    }
    try await session.core.takeDown(id, placement)
  }

  private func reset() {
    for characteristic in offered.flatMap(\.characteristics) { characteristic.reset() }
  }

  func establish(on connection: Connection, at path: ObjectPath) async throws {
    let version = await session.version()
    if state.withLock({ $0.connection !== connection || $0.objects.isEmpty }) {
      let objects = try export(on: connection)
      state.withLock { state in
        state.connection = connection
        state.objects = objects
      }
    }
    for characteristic in offered.flatMap(\.characteristics) {
      characteristic.state.withLock { $0.version = version }
    }
    do {
      try await connection.call(
        SessionCore.service, path, manager, "RegisterApplication", [.objectPath(root), .properties([:])], returning: "")
    } catch let error as DBusError where error.name == "org.bluez.Error.AlreadyExists" {
      // The adapter was only switched off and on; bluetoothd has kept it.
    }
  }

  /// Puts the objects on the bus where bluetoothd will look for them; it adds them in the order of their names.
  private func export(on connection: Connection) throws -> [ExportedObject] {
    state.withLock { $0.objects = [] }
    let paths = try offered.indices.map { try root.appending(Self.name("service", $0)) }
    var objects = [try connection.export(root, objectManager: true)]
    for (service, path) in zip(offered, paths) {
      let included = service.includes.compactMap { each in
        offered.firstIndex { $0 === each }.map { paths[$0] }
      }
      objects.append(try connection.export(path, [service.interface(including: included)]))
      for (number, characteristic) in service.characteristics.enumerated() {
        let child = try path.appending(Self.name("char", number))
        objects.append(try connection.export(child, [characteristic.interface(service: path)]))
        for (number, descriptor) in characteristic.descriptors.enumerated() {
          objects.append(
            try connection.export(
              try child.appending(Self.name("desc", number)), [descriptor.interface(characteristic: child)]))
        }
      }
    }
    return objects
  }

  private static func name(_ kind: String, _ number: Int) -> String {
    let digits = String(number)
    return kind + String(repeating: "0", count: max(3 - digits.count, 0)) + digits
  }
}

extension LocalService {
  fileprivate func interface(including included: [ObjectPath]) -> Interface {
    Interface(
      InterfaceName.service,
      properties: [
        .init("UUID", .string(uuid.description)), .init("Primary", .bool(isPrimary)),
        .init("Includes", .objectPaths(included)),
      ])
  }
}

extension Adapter {
  /// Offers GATT services to centrals, until the returned object is given up.
  ///
  /// It is declared: after a restart of bluetoothd the services are registered again.
  /// - Throws: ``BlueZError``: `.invalidArgument` when bluetoothd finds a fault in the services, `.noAdapter`,
  ///   `.serviceUnavailable`, `.notPermitted`.
  public func offer(_ services: [LocalService]) async throws -> GATTApplication {
    let application = GATTApplication(session: session, adapter: address, services: services)
    try await application.start()
    return application
  }
}
