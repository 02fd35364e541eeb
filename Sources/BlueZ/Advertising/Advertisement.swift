import DBus

/// A running LE advertisement; it ends with this object, or with ``stop()``.
public final class Advertisement: Registration {
  /// What is advertised.
  public struct Content: Sendable, Hashable {
    /// The name, in the scan response; `nil` advertises none.
    public var name: String?
    /// The services, in the advertising data.
    public var services: [BluetoothUUID]
    /// Data by company identifier.
    public var manufacturerData: [UInt16: [UInt8]]
    /// Data by service.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// Whether centrals may connect.
    public var isConnectable: Bool

    /// Describes an advertisement.
    public init(
      name: String? = nil, services: [BluetoothUUID] = [], manufacturerData: [UInt16: [UInt8]] = [:],
      serviceData: [BluetoothUUID: [UInt8]] = [:], isConnectable: Bool = true
    ) {
      self.name = name
      self.services = services
      self.manufacturerData = manufacturerData
      self.serviceData = serviceData
      self.isConnectable = isConnectable
    }

    /// What it takes of the legacy advertising bytes.
    public var budget: AdvertisementBudget { AdvertisementBudget(self) }
  }

  static let interface = "org.bluez.LEAdvertisement1"

  /// What is advertised.
  public let content: Content
  let place: RegistrationPlace
  let manager = "org.bluez.LEAdvertisingManager1"
  let needsPower = true
  let order = 1
  var title: String { "the advertisement\(content.name.map { " '\($0)'" } ?? "")" }

  private let session: Session
  private let path: ObjectPath
  private let state = Lock(State())

  private struct State {
    var id: Int?
    var entry: ForwardingRegistration?
    var connection: Connection?
    var object: ExportedObject?
  }

  private static let counter = Lock(0)

  init(session: Session, adapter: BluetoothAddress, content: Content) {
    self.session = session
    place = .adapter(adapter)
    self.content = content
    let number = Self.counter.withLock { counter in
      counter += 1
      return counter
    }
    path = ObjectPath(stringLiteral: "/org/edgeblue/advertisement\(number)")
  }

  deinit {
    guard let id = state.withLock({ $0.id }), let (_, adapter) = session.core.unregister(id) else { return }
    let (core, path) = (session.core, path)
    Task {
      try await core.call(
        adapter, "org.bluez.LEAdvertisingManager1", "UnregisterAdvertisement", [.objectPath(path)], doing: "")
    }
  }

  func start() async throws {
    let entry = ForwardingRegistration(self)
    state.withLock { $0.entry = entry }
    let id = try await session.core.register(entry)
    state.withLock { $0.id = id }
  }

  /// Ends the advertisement.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  public func stop() async throws {
    let id = state.withLock { state in
      defer { state.id = nil }
      return state.id
    }
    defer { state.withLock { $0.object = nil } }
    guard let id, let (_, adapter) = session.core.unregister(id) else { return }
    try await session.core.call(
      adapter, manager, "UnregisterAdvertisement", [.objectPath(path)], doing: "ending \(title)")
  }

  func establish(on connection: Connection, at adapter: ObjectPath) async throws {
    if state.withLock({ $0.connection !== connection || $0.object == nil }) {
      state.withLock { $0.object = nil }
      let object = try connection.export(path, [interface()])
      state.withLock { state in
        state.connection = connection
        state.object = object
      }
    }
    let arguments: [Value] = [.objectPath(path), .properties([:])]
    do {
      try await connection.call(
        SessionCore.service, adapter, manager, "RegisterAdvertisement", arguments, returning: "")
    } catch let error as DBusError where error.name == "org.bluez.Error.AlreadyExists" {
      // Kept over a power cycle by bluetoothd, but the controller has forgotten it: once more from the start.
      try await connection.call(
        SessionCore.service, adapter, manager, "UnregisterAdvertisement", [.objectPath(path)], returning: "")
      try await connection.call(
        SessionCore.service, adapter, manager, "RegisterAdvertisement", arguments, returning: "")
    }
  }

  private func interface() -> Interface {
    var properties: [Interface.Property] = [
      .init("Type", .string(content.isConnectable ? "peripheral" : "broadcast"))
    ]
    if content.isConnectable { properties.append(.init("Discoverable", true)) }
    if let name = content.name { properties.append(.init("LocalName", .string(name))) }
    if !content.services.isEmpty {
      properties.append(.init("ServiceUUIDs", .strings(content.services.map(\.description))))
    }
    if !content.manufacturerData.isEmpty {
      properties.append(
        .init(
          "ManufacturerData",
          .dictionary(
            of: "qv", content.manufacturerData.map { Value.Entry(.uint16($0.key), .variant(.bytes($0.value))) })))
    }
    if !content.serviceData.isEmpty {
      properties.append(
        .init(
          "ServiceData",
          .properties(
            Dictionary(uniqueKeysWithValues: content.serviceData.map { ($0.key.description, .bytes($0.value)) }))))
    }
    let release = Interface.Method("Release") { [weak self] _ in
      self?.released()
      return []
    }
    return Interface(Self.interface, methods: [release], properties: properties)
  }

  /// bluetoothd ended it, because the adapter went away or was reset; the supervisor puts it back.
  private func released() {
    if let entry = state.withLock({ $0.entry }) { session.core.lost(entry) }
  }
}

extension Adapter {
  /// Advertises, until the returned object is given up.
  ///
  /// It is declared: after a restart of bluetoothd, a power cycle or a replug it is registered again.
  /// - Throws: ``BlueZError``: `.advertisementTooLong` before anything is sent, `.notPowered`, `.notPermitted` when
  ///   all of the adapter's advertising instances are taken, `.noAdapter`, `.serviceUnavailable`.
  public func advertise(_ content: Advertisement.Content) async throws -> Advertisement {
    try content.budget.check()
    let advertisement = Advertisement(session: session, adapter: address, content: content)
    try await advertisement.start()
    return advertisement
  }
}
