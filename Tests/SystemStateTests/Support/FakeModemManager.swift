import DBus
import DBusTesting
import Streams

/// What answers as ModemManager does, on a bus of its own: the modems that a test adds.
final class FakeModemManager: Sendable {
  private static let name = "org.freedesktop.ModemManager1"
  private static let root: ObjectPath = "/org/freedesktop/ModemManager1"

  private let connection: Connection
  private let manager: ExportedObject
  private let modems = Lock<[Int: (object: ExportedObject, values: Lock<[String: Value]>)]>([:])
  /// The intervals at which modems were asked to measure, in the order of asking.
  private let intervals = Lock<[UInt32]>([])

  init(_ bus: PrivateBus) async throws {
    connection = try await bus.connect()
    manager = try connection.export(Self.root, objectManager: true)
    _ = try await connection.requestName(Self.name)
  }

  var asked: [UInt32] { intervals.withLock { $0 } }

  private static let types: [String: (interface: String, type: Signature)] = [
    "Model": ("Modem", "s"), "State": ("Modem", "i"), "AccessTechnologies": ("Modem", "u"),
    "SignalQuality": ("Modem", "(ub)"), "Ports": ("Modem", "a(su)"), "RegistrationState": ("Modem.Modem3gpp", "u"),
    "OperatorCode": ("Modem.Modem3gpp", "s"), "OperatorName": ("Modem.Modem3gpp", "s"),
    "Lte": ("Modem.Signal", "a{sv}"),
    "Nr5g": ("Modem.Signal", "a{sv}"), "Umts": ("Modem.Signal", "a{sv}"),
  ]

  /// Adds a modem with the properties that are given, on the interfaces that have them.
  func add(_ number: Int, _ properties: [String: Value]) throws {
    let values = Lock(properties)
    var interfaces: [String: [Interface.Property]] = [:]
    for name in properties.keys {
      guard let (interface, type) = Self.types[name] else { continue }
      interfaces[interface, default: []].append(.init(name, type, get: { values.withLock { $0[name] } }))
    }
    let setup = Interface.Method("Setup", in: [.init("rate", "u")]) { [intervals] call in
      intervals.withLock { $0.append(call.arguments[0].integer() ?? 0) }
      return []
    }
    let exported = interfaces.map { name, properties in
      Interface("\(Self.name).\(name)", methods: name == "Modem.Signal" ? [setup] : [], properties: properties)
    }
    let object = try connection.export(try ObjectPath("\(Self.root)/Modem/\(number)"), exported)
    modems.withLock { $0[number] = (object, values) }
  }

  /// Changes properties of a modem, and tells of it.
  func change(_ number: Int, _ properties: [String: Value]) throws {
    guard let modem = modems.withLock({ $0[number] }) else { return }
    for (name, value) in properties {
      modem.values.withLock { $0[name] = value }
      guard let (interface, _) = Self.types[name] else { continue }
      try modem.object.emitPropertiesChanged("\(Self.name).\(interface)", [name: value])
    }
  }

  func remove(_ number: Int) { modems.withLock { $0[number] = nil } }

  func end() { connection.close() }

  /// The properties of a modem that is registered with LTE.
  static func lte(_ interface: String = "wwan0") -> [String: Value] {
    [
      "Model": "Fake", "State": .int32(8), "AccessTechnologies": .uint32(1 << 14),
      "SignalQuality": .structure([.uint32(70), true]),
      "Ports": .array(
        of: "(su)",
        [
          .structure([.string(interface), .uint32(2)]), .structure(["ttyUSB2", .uint32(3)]),
        ]),
      "RegistrationState": .uint32(1), "OperatorCode": "23201", "OperatorName": "A1",
      "Lte": figures(["rsrp": -95, "rsrq": -11, "snr": 14]), "Nr5g": figures([:]),
    ]
  }

  static func figures(_ values: [String: Double]) -> Value { .properties(values.mapValues { .double($0) }) }
}
