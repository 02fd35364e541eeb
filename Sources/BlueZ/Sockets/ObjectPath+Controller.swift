import DBus

extension ObjectPath {
  /// The number N of an adapter's object `/org/bluez/hciN`, by which the kernel knows it.
  var controllerIndex: UInt16? { UInt16(lastElement.drop { !$0.isNumber }) }
}
