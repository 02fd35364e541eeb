extension BlueZError {
  /// Creates the error that corresponds to the status of a management command (BlueZ, doc/mgmt-api.txt).
  /// - Returns: `nil` for success.
  init?(managementStatus status: UInt8, while doing: String) {
    guard status != 0 else { return nil }
    let (code, hint): (Code, String?) =
      switch status {
      case 0x01, 0x0c: (.notSupported, "this kernel or controller does not support it")
      case 0x02, 0x0e: (.notConnected, nil)
      case 0x08: (.timedOut, "the controller did not answer")
      case 0x0a: (.inProgress, nil)
      case 0x0d: (.invalidArgument, nil)
      case 0x0f: (.notPowered, "switch it on: `bluetoothctl power on`")
      case 0x11: (.noAdapter, nil)
      case 0x12: (.notPowered, "`rfkill list` shows whether it is blocked")
      case 0x14:
        (
          .notPermitted,
          "the kernel permits it only with CAP_NET_ADMIN: run as root, or let systemd grant it "
            + "(AmbientCapabilities=CAP_NET_ADMIN)"
        )
      default: (.failed, nil)
      }
    let number = (status < 16 ? "0" : "") + String(status, radix: 16)
    self.init(code, "\(doing): management status 0x\(number)", hint: hint)
  }

  /// Returns the error of a reply that is shorter than the command's, or contradicts itself.
  static func malformedReply(_ doing: String) -> BlueZError {
    BlueZError(.failed, "\(doing): the kernel's reply is malformed")
  }
}
