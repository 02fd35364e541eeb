internal import DBus

/// The names of the agent on the bus. The contracts are `dbus/io.edgecoder.Agent1.xml`, `dbus/io.edgecoder.Tasks1.xml`
/// and `dbus/io.edgecoder.AgentDetails1.xml`.
enum AgentBus {
  static let name = "io.edgecoder.Agent1"
  static let path: ObjectPath = "/io/edgecoder/Agent1"
  static let interface = "io.edgecoder.Agent1"
  static let tasks = "io.edgecoder.Tasks1"
  static let details = "io.edgecoder.AgentDetails1"
  static let invalidArgument = "io.edgecoder.Agent1.Error.InvalidArgument"
  static let storage = "io.edgecoder.Agent1.Error.Storage"
  static let notRegistered = "io.edgecoder.Tasks1.Error.NotRegistered"
  static let notNow = "io.edgecoder.Tasks1.Error.NotNow"
}

extension AgentEvent {
  /// The event as a D-Bus structure: `(txss)`.
  var values: [Value] { [.uint64(UInt64(number)), .int64(atMs), .string(kind.rawValue), .string(text)] }

  init?(values: [Value]) {
    guard values.count == 4, let number: Int = values[0].integer(), let atMs: Int64 = values[1].integer(),
      let kind = values[2].string, let text = values[3].string
    else { return nil }
    self.init(number: number, atMs: atMs, kind: Kind(rawValue: kind), text: text)
  }
}
