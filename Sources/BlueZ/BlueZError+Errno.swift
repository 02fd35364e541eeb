import Glibc

extension BlueZError {
  /// Creates the error that corresponds to the kernel's error number for a socket.
  /// - Parameter doing: The phase, for the message: "opening PSM 0x80 of 00:AA:01:00:00:42".
  package init(errno number: Int32, while doing: String) {
    let (code, hint): (Code, String?) =
      switch number {
      case ECONNREFUSED:
        (.channelRefused, "check that the peer listens on this PSM")
      case EACCES, EBADE:
        // HCI's "authentication failure", "pairing not allowed" and "key missing" appear as these errors of a socket.
        (.authenticationFailed, "check that the peer is pairable, and remove an older bond")
      case EADDRINUSE:
        (.psmInUse, "omit the PSM to get a free one")
      case ETIMEDOUT:
        (.timedOut, nil)
      case EHOSTUNREACH, ENODEV, ENETDOWN:
        (.noAdapter, "check that the adapter is present and switched on")
      case EHOSTDOWN, ECONNABORTED, EIO, EBUSY, EALREADY, ELOOP, EMLINK:
        (.connectFailed, nil)
      case EPERM:
        (.notPermitted, nil)
      case ECONNRESET, ENOTCONN, EPIPE, EBADF:
        (.notConnected, nil)
      case EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP:
        (.notSupported, "this kernel or controller does not support L2CAP channels over LE")
      case EINVAL, EMSGSIZE:
        (.invalidArgument, nil)
      default:
        (.failed, nil)
      }
    self.init(code, "\(doing): \(String(cString: strerror(number)))", hint: hint, errno: number)
  }
}
