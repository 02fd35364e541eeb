import DBus
import Streams

/// A set of GATT services that is registered as long as this object exists, or until ``unregister()``.
///
/// ```swift
/// let level = LocalCharacteristic("2a19", value: [80])
/// let application = try await adapter.offer([LocalService("180f", characteristics: [level])])
/// print(application.services.map(\.uuid))
/// try await application.unregister()
/// ```
public final class GATTApplication: Registration {
  /// The registered services with all that they include, in the order in which bluetoothd received them.
  public var services: [LocalService] { offered + additions.withLock { $0 }.flatMap(\.services) }

  /// The services of this registration.
  private let offered: [LocalService]
  /// The applications that were added later, each a registration of its own.
  private let additions = Lock<[GATTApplication]>([])
  let place: RegistrationPlace
  let manager = "org.bluez.GattManager1"
  let needsPower = false
  let order = 0
  var title: String { "the services \(offered.map(\.uuid.description).joined(separator: ", "))" }

  private let session: Session
  private let adapter: AdapterIdentity
  private let root: ObjectPath
  private let state = Lock(State())

  private struct State {
    var id: Int?
    var connection: Connection?
    var objects: [ExportedObject] = []
    var observer: Int?
  }

  private static let paths = ObjectPathCounter("application")

  init(session: Session, adapter: AdapterIdentity, services: [LocalService]) {
    self.session = session
    self.adapter = adapter
    place = .adapter(adapter)
    offered = services.withIncluded
    root = Self.paths.next()
  }

  deinit {
    let (id, observer) = state.withLock { ($0.id, $0.observer) }
    if let observer { session.core.stopObserving(observer) }
    session.core.takeDownQuietly(id)
    reset()
  }

  func start() async throws {
    let core = session.core
    let observer = core.observe { [weak self] change in
      // The sockets end by themselves; the records of subscriptions must be removed here.
      if case .serviceDown = change { self?.reset() }
    }
    state.withLock { $0.observer = observer }
    let id = try await core.register(ForwardingRegistration(self))
    state.withLock { $0.id = id }
  }

  /// Registers further services beside the present ones, as long as this object exists.
  ///
  /// bluetoothd reads the services of a registration only once, so these get one of their own, without effect on the
  /// clients of the others. bluetoothd informs the centrals that its services changed (Core Specification 3.G.7.1).
  /// - Throws: ``BlueZError``: `.invalidArgument` when a service is registered already, or includes one that is
  ///   (bluetoothd includes no services of another registration); otherwise the errors of ``Adapter/offer(_:)``.
  public func add(_ services: [LocalService]) async throws {
    let known = self.services
    if let twice = services.withIncluded.first(where: { new in known.contains { $0 === new } }) {
      throw BlueZError(.invalidArgument, "the service \(twice.uuid) is registered already")
    }
    let addition = GATTApplication(session: session, adapter: adapter, services: services)
    try await addition.start()
    additions.withLock { $0.append(addition) }
  }

  /// Unregisters the services that one call of ``add(_:)`` registered. Only the centrals that use them are affected.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the service was not added by ``add(_:)``; the errors of
  ///   ``unregister()``.
  public func remove(_ service: LocalService) async throws {
    let addition = additions.withLock { additions in
      additions.firstIndex { $0.offered.contains { $0 === service } }.map { additions.remove(at: $0) }
    }
    guard let addition else {
      throw BlueZError(.invalidArgument, "the service \(service.uuid) was not added", hint: "use `unregister()`")
    }
    try await addition.unregister()
  }

  var undoing: Undoing { Undoing(manager, "UnregisterApplication", root, title) }

  /// Unregisters the services of the application. Centrals that use them lose them. Where the adapter or bluetoothd is
  /// gone, the services are gone too.
  /// - Throws: ``BlueZError`` when bluetoothd refuses; this program no longer provides the services in any case.
  public func unregister() async throws {
    let added = additions.withLock { additions in
      defer { additions = [] }
      return additions
    }
    // Every part, also when bluetoothd refuses one.
    var failure: (any Error)?
    for part in added.map({ $0.unregisterOffered }) + [unregisterOffered] {
      do {
        try await part()
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// Unregisters the services of this registration, without the additions.
  private func unregisterOffered() async throws {
    let id = state.withLock { $0.id.take() }
    guard let id else { return }
    defer {
      state.withLock { $0.objects = [] }
      reset()
    }
    try await session.core.takeDown(id)
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

  /// Exports the objects on the bus for bluetoothd, which adds them in the order of their names.
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
  /// Registers GATT services for centrals, until the returned object is released or unregistered.
  ///
  /// The services are declared: after a restart of bluetoothd they are registered again.
  ///
  /// ```swift
  /// import Streams
  ///
  /// let box = Lock<[UInt8]>([])
  /// let note = LocalCharacteristic(
  ///   "ec0d0002-ec0d-ec0d-ec0d-ec0d0002ec0d", [.read, .write], read: { _ in box.withLock { $0 } },
  ///   writes: .handler { request in box.withLock { $0 = request.value } })
  /// let application = try await adapter.offer([
  ///   LocalService("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d", characteristics: [note])
  /// ])
  /// print(application.services.count)
  /// ```
  /// - Parameter services: The services, with all that they include.
  /// - Throws: ``BlueZError``: `.invalidArgument` when bluetoothd rejects the services, `.noAdapter`,
  ///   `.serviceUnavailable`, `.notPermitted`.
  public func offer(_ services: [LocalService]) async throws -> GATTApplication {
    let application = GATTApplication(session: session, adapter: identity, services: services)
    try await application.start()
    return application
  }
}
