internal import CDBus

/// A libdbus message whose reference this object owns.
final class RawMessage: @unchecked Sendable {
  // Sound: a message is written by one task before it is sent, and only read after it was received.
  let pointer: OpaquePointer

  /// Takes ownership of a reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  /// Adds a reference.
  init(retaining pointer: OpaquePointer) { self.pointer = dbus_message_ref(pointer) }

  deinit {
    dbus_message_unref(pointer)
  }

  /// Creates a method call.
  static func call(
    destination: String?, path: ObjectPath, interface: String, member: String
  ) throws(DBusError) -> RawMessage {
    if let destination { try Name.check(.bus, destination) }
    try Name.check(.interface, interface)
    try Name.check(.member, member)
    return try made(dbus_message_new_method_call(destination, path.description, interface, member))
  }

  /// Creates a signal.
  static func signal(path: ObjectPath, interface: String, member: String) throws(DBusError) -> RawMessage {
    try Name.check(.interface, interface)
    try Name.check(.member, member)
    return try made(dbus_message_new_signal(path.description, interface, member))
  }

  /// Creates the reply to a call.
  static func reply(to call: RawMessage) throws(DBusError) -> RawMessage {
    try made(dbus_message_new_method_return(call.pointer))
  }

  /// Creates the error reply to a call.
  static func error(to call: RawMessage, _ error: DBusError) throws(DBusError) -> RawMessage {
    try Name.check(.error, error.name)
    return try made(dbus_message_new_error(call.pointer, error.name, error.message.replacing("\0", with: " ")))
  }

  private static func made(_ pointer: OpaquePointer?) throws(DBusError) -> RawMessage {
    guard let pointer else { throw DBusError(.limitExceeded, "libdbus ran out of memory") }
    return RawMessage(owning: pointer)
  }

  func append(_ values: [Value]) throws(DBusError) {
    if !values.isEmpty { try MessageWriter.append(values, to: pointer) }
  }

  var values: [Value] { MessageReader.values(of: pointer) }
  var signature: String { String(cString: dbus_message_get_signature(pointer)) }
  var sender: String? { dbus_message_get_sender(pointer).map { String(cString: $0) } }
  var path: String { dbus_message_get_path(pointer).map { String(cString: $0) } ?? "" }
  var interface: String? { dbus_message_get_interface(pointer).map { String(cString: $0) } }
  var member: String { dbus_message_get_member(pointer).map { String(cString: $0) } ?? "" }
  var wantsReply: Bool { dbus_message_get_no_reply(pointer) == 0 }

  /// The contents of an error reply.
  var error: DBusError {
    let name = dbus_message_get_error_name(pointer).map { String(cString: $0) } ?? "org.freedesktop.DBus.Error.Failed"
    return DBusError(name: name, message: values.first?.string ?? "")
  }
}
