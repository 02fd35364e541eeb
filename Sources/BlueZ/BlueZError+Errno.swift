import Glibc

extension BlueZError {
  /// What the kernel's error number means for an L2CAP socket.
  /// - Parameter doing: the phase, for the message: "opening PSM 0x80 of 00:AA:01:00:00:42".
  init(errno number: Int32, while doing: String) {
    let (code, hint): (Code, String?) =
      switch number {
      case ECONNREFUSED:
        (.channelRefused, "does the peer listen on this PSM?")
      case EACCES, EBADE:
        // How HCI's "authentication failure", "pairing not allowed" and "key missing" come out of a socket.
        (.authenticationFailed, "is the peer pairable, and did it forget an older bond?")
      case EADDRINUSE:
        (.psmInUse, "leave the PSM out to get a free one")
      case ETIMEDOUT:
        (.timedOut, nil)
      case EHOSTUNREACH, ENODEV, ENETDOWN:
        (.noAdapter, "is the adapter there and powered?")
      case EHOSTDOWN, ECONNABORTED, EIO, EBUSY, EALREADY, ELOOP, EMLINK:
        (.connectFailed, nil)
      case EPERM:
        (.notPermitted, nil)
      case ECONNRESET, ENOTCONN, EPIPE, EBADF:
        (.notConnected, nil)
      case EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP:
        (.notSupported, "this kernel or controller has no L2CAP channels for LE")
      case EINVAL, EMSGSIZE:
        (.invalidArgument, nil)
      default:
        (.failed, nil)
      }
    self.init(code, "\(doing): \(String(cString: strerror(number)))", hint: hint, errno: number)
  }
}
