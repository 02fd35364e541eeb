/// The constants that all sockets of the kernel's Bluetooth subsystem share.
enum BluetoothSocket {
  /// `AF_BLUETOOTH` (include/linux/socket.h).
  static let family: UInt16 = 31
}
