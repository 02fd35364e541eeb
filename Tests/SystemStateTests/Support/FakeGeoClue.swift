import DBus
import DBusTesting
import Streams

/// What answers as GeoClue does, on a bus of its own: one client, which an agent permits or nobody does.
final class FakeGeoClue: Sendable {
  private static let name = "org.freedesktop.GeoClue2"
  private static let client = "org.freedesktop.GeoClue2.Client"
  private static let location = "org.freedesktop.GeoClue2.Location"
  private static let clientPath: ObjectPath = "/org/freedesktop/GeoClue2/Client/1"

  /// The answers to `Start`.
  enum Permission: Sendable {
    case granted
    case refused
    /// No answer, as without an agent.
    case none
    /// No client either, as of versions that wait for an agent before.
    case noClient
  }

  private struct State {
    var settings: [String: Value] = ["DesktopId": "", "RequestedAccuracyLevel": .uint32(0)]
    var newest: ObjectPath = "/"
    var locations: [ExportedObject] = []
    var starts = 0
  }

  private let connection: Connection
  private let state = Lock(State())
  private let objects: Lock<[ExportedObject]>

  init(_ bus: PrivateBus, permission: Permission = .granted) async throws {
    connection = try await bus.connect()
    let state = state
    let manager = Interface(
      "org.freedesktop.GeoClue2.Manager",
      methods: [
        .init("GetClient", out: [.init("client", "o")]) { _ in
          if permission == .noClient { try await Task.sleep(for: .seconds(100)) }
          return [.objectPath(Self.clientPath)]
        }
      ])
    func setting(_ name: String, _ type: Signature) -> Interface.Property {
      .init(
        name, type, get: { state.withLock { $0.settings[name] } },
        set: { value in state.withLock { $0.settings[name] = value } })
    }
    let client = Interface(
      Self.client,
      methods: [
        .init("Start") { _ in
          state.withLock { $0.starts += 1 }
          switch permission {
          case .granted: return []
          case .refused: throw DBusError(name: "org.freedesktop.DBus.Error.AccessDenied", message: "refused")
          case .none, .noClient:
            try await Task.sleep(for: .seconds(100))
            return []
          }
        }
      ],
      properties: [
        .init("Location", "o", get: { .objectPath(state.withLock { $0.newest }) }), setting("DesktopId", "s"),
        setting("RequestedAccuracyLevel", "u"),
      ], signals: [.init("LocationUpdated", [.init("old", "o"), .init("new", "o")])])
    objects = Lock([
      try connection.export("/org/freedesktop/GeoClue2/Manager", [manager]),
      try connection.export(Self.clientPath, [client]),
    ])
    _ = try await connection.requestName(Self.name)
  }

  /// The values that the client has set, by name.
  var settings: [String: Value] { state.withLock { $0.settings } }
  var starts: Int { state.withLock { $0.starts } }

  /// The host has another location.
  func locate(_ number: Int, _ values: [String: Value], signals: Bool = true) throws {
    let path: ObjectPath = try ObjectPath("/org/freedesktop/GeoClue2/Client/1/Location/\(number)")
    let properties = values.map { name, value in
      Interface.Property(name, name == "Timestamp" ? "(tt)" : "d", get: { value })
    }
    let object = try connection.export(path, [Interface(Self.location, properties: properties)])
    let old = state.withLock { state in
      defer { state.newest = path }
      state.locations.append(object)
      return state.newest
    }
    guard signals else { return }
    try connection.emit(Self.clientPath, Self.client, "LocationUpdated", [.objectPath(old), .objectPath(path)])
  }

  /// The values of a location at a latitude.
  static func values(_ latitude: Double, atMs: UInt64) -> [String: Value] {
    [
      "Latitude": .double(latitude), "Longitude": .double(16), "Accuracy": .double(20),
      "Altitude": .double(-.greatestFiniteMagnitude), "Speed": .double(-1), "Heading": .double(-1),
      "Timestamp": .structure([.uint64(atMs / 1000), .uint64(atMs % 1000 * 1000)]),
    ]
  }

  func end() { connection.close() }
}
