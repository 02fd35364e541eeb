import DBus

/// A set of GATT services that is offered as long as this object lives, or until ``unregister()``.
public final class GATTApplication: Registration {
  /// What is offered.
  public let services: [LocalService]
  let place: RegistrationPlace
  let manager = "org.bluez.GattManager1"
  let needsPower = false
  let order = 0
  var title: String { "the services \(services.map(\.uuid.description).joined(separator: ", "))" }

  private let session: Session
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
    place = .adapter(adapter)
    self.services = services
    let number = Self.counter.withLock { counter in
      counter += 1
      return counter
    }
    root = ObjectPath(stringLiteral: "/org/edgeblue/application\(number)")
  }

  deinit {
    let (id, observer) = state.withLock { ($0.id, $0.observer) }
    if let observer { session.core.stopObserving(observer) }
    if let id, let (_, path) = session.core.unregister(id) {
      let root = root
      let core = session.core
      Task {
        try await core.call(path, "org.bluez.GattManager1", "UnregisterApplication", [.objectPath(root)], doing: "")
      }
    }
    for characteristic in services.flatMap(\.characteristics) { characteristic.reset() }
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

  /// Takes the services away. Centrals that use them lose them.
  /// - Throws: ``BlueZError`` when bluetoothd refuses; the services are gone from this program all the same.
  public func unregister() async throws {
    let id = state.withLock { state in
      defer { state.id = nil }
      return state.id
    }
    guard let id else { return }
    defer {
      state.withLock { $0.objects = [] }
      reset()
    }
    guard let (_, path) = session.core.unregister(id) else { return }
    try await session.core.call(
      path, manager, "UnregisterApplication", [.objectPath(root)], doing: "taking away \(title)")
  }

  private func reset() {
    for characteristic in services.flatMap(\.characteristics) { characteristic.reset() }
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
    for characteristic in services.flatMap(\.characteristics) {
      characteristic.state.withLock { $0.version = version }
    }
    do {
      try await connection.call(
        SessionCore.service, path, manager, "RegisterApplication", [.objectPath(root), .properties([:])], returning: "")
    } catch let error as DBusError where error.name == "org.bluez.Error.AlreadyExists" {
      // The adapter was only switched off and on; bluetoothd has kept it.
    }
  }

  /// Puts the objects on the bus where bluetoothd will look for them.
  private func export(on connection: Connection) throws -> [ExportedObject] {
    state.withLock { $0.objects = [] }
    var objects = [try connection.export(root, objectManager: true)]
    for (number, service) in services.enumerated() {
      let path = try root.appending("service\(number)")
      objects.append(
        try connection.export(
          path,
          [
            Interface(
              RemoteService.interface,
              properties: [
                .init("UUID", .string(service.uuid.description)), .init("Primary", .bool(service.isPrimary)),
              ])
          ]))
      for (number, characteristic) in service.characteristics.enumerated() {
        let child = try path.appending("char\(number)")
        let object = try connection.export(child, [characteristic.interface(service: path)])
        characteristic.state.withLock { $0.object = object }
        objects.append(object)
        for (number, descriptor) in characteristic.descriptors.enumerated() {
          objects.append(
            try connection.export(
              try child.appending("desc\(number)"), [descriptor.interface(characteristic: child)]))
        }
      }
    }
    return objects
  }
}

/// Stands in for an object in the supervisor's list without keeping it alive.
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

extension Adapter {
  /// Offers GATT services to centrals, until the returned object is given up.
  ///
  /// It is declared: after a restart of bluetoothd the services are registered again.
  /// - Throws: ``BlueZError``: `.invalidArgument` when bluetoothd finds a fault in the services, `.noAdapter`,
  ///   `.serviceUnavailable`, `.notPermitted`.
  public func offer(_ services: [LocalService]) async throws -> GATTApplication {
    _ = try requirePath()
    let application = GATTApplication(session: session, adapter: address, services: services)
    try await application.start()
    return application
  }
}
