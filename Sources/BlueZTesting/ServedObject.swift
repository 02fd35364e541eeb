import DBus
import Logging
import Streams

/// An object of the daemon, with methods and with properties that change.
final class ServedObject: Sendable {
  /// An interface of the object.
  struct Part {
    var name: String
    /// The types of all properties that the interface may have.
    var types: [String: Signature] = [:]
    /// The properties that are present.
    var values: [String: Value] = [:]
    var setters: [String: @Sendable (Value) async throws -> Void] = [:]
    var methods: [Interface.Method] = []
  }

  let path: ObjectPath
  private let values: Lock<[String: [String: Value]]>
  private let exported: ExportedObject
  private let logger: Logger

  init(_ connection: Connection, _ path: ObjectPath, _ parts: [Part], logger: Logger) throws {
    self.path = path
    self.logger = logger
    let values = Lock(Dictionary(uniqueKeysWithValues: parts.map { ($0.name, $0.values) }))
    self.values = values
    exported = try connection.export(
      path,
      parts.map { part in
        Interface(
          part.name, methods: part.methods,
          properties: part.types.map { name, type in
            .init(name, type, get: { values.withLock { $0[part.name]?[name] } }, set: part.setters[name])
          })
      })
  }

  /// Removes the object from the bus.
  func remove() { exported.remove() }

  subscript(_ interface: String, _ property: String) -> Value? { values.withLock { $0[interface]?[property] } }

  /// Changes properties and signals those that differ.
  /// - Parameters:
  ///   - changes: The new values; `nil` removes a property.
  ///   - repeating: The properties that are signalled even when they are the same.
  ///   - silently: `true` to send no signal.
  func set(
    _ interface: String, _ changes: [String: Value?], repeating: Set<String> = [], silently: Bool = false
  ) {
    let (changed, gone) = values.withLock { values in
      // Not every bluetoothd has every interface.
      guard values[interface] != nil else { return ([String: Value](), [String]()) }
      var (changed, gone): ([String: Value], [String]) = ([:], [])
      for (name, value) in changes {
        let old = values[interface]?[name]
        values[interface]?[name] = value
        if let value {
          if value != old || repeating.contains(name) { changed[name] = value }
        } else if old != nil {
          gone.append(name)
        }
      }
      return (changed, gone)
    }
    guard !silently, !changed.isEmpty || !gone.isEmpty else { return }
    logging { try exported.emitPropertiesChanged(interface, changed, invalidated: gone.sorted()) }
  }

  /// Sends a signal of the object.
  func emit(_ interface: String, _ member: String, _ arguments: [Value]) {
    logging { try exported.emit(interface, member, arguments) }
  }

  /// Logs failures: a daemon that is being killed has no clients, but any other failure matters.
  private func logging(_ body: () throws -> Void) {
    do {
      try body()
    } catch {
      logger.debug("signal not sent from \(path)", metadata: ["error": "\(error)"])
    }
  }
}

/// The interfaces of bluetoothd that the fake provides or uses.
enum Names {
  static let service = "org.bluez"
  static let root: ObjectPath = "/org/bluez"
  static let adapter = "org.bluez.Adapter1"
  static let device = "org.bluez.Device1"
  static let bearerClassic = "org.bluez.Bearer.BREDR1"
  static let bearerLE = "org.bluez.Bearer.LE1"
  static let gattManager = "org.bluez.GattManager1"
  static let gattService = "org.bluez.GattService1"
  static let characteristic = "org.bluez.GattCharacteristic1"
  static let descriptor = "org.bluez.GattDescriptor1"
  static let advertisingManager = "org.bluez.LEAdvertisingManager1"
  static let advertisement = "org.bluez.LEAdvertisement1"
  static let monitor = "org.bluez.AdvertisementMonitor1"
  static let monitorManager = "org.bluez.AdvertisementMonitorManager1"
  static let agentManager = "org.bluez.AgentManager1"
  static let agent = "org.bluez.Agent1"
}

extension DBusError {
  /// An error as bluetoothd sends it.
  static func bluez(_ name: String, _ message: String) -> DBusError {
    DBusError(name: "org.bluez.Error." + name, message: message)
  }

  static let notReady = bluez("NotReady", "Resource Not Ready")
  static let alreadyExists = bluez("AlreadyExists", "Already Exists")
  static let doesNotExist = bluez("DoesNotExist", "Does Not Exist")
  static let inProgress = bluez("InProgress", "Operation already in progress")
  static let notConnected = bluez("Failed", "Not connected")
  static let connectAborted = bluez("Failed", "le-connection-abort-by-local")
  static let notSupported = bluez("NotSupported", "Operation is not supported")
}
