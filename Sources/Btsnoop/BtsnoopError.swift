public import ErrorReporting

/// An error of reading, writing or making a recording of Bluetooth traffic.
public typealias BtsnoopError = CodedError<BtsnoopErrorDomain>

/// The domain of the codes of ``BtsnoopError``.
public enum BtsnoopErrorDomain {}

extension CodedError.Code where Domain == BtsnoopErrorDomain {
  /// The input does not start like a btsnoop file.
  public static var notBtsnoop: Self { Self("no btsnoop file", .invalidInput) }
  /// The file is of a version, or holds a kind of packets, that this library does not read.
  public static var unsupported: Self { Self("unsupported", .invalidInput) }
  /// A record contradicts the format; the records before it are good.
  public static var malformed: Self { Self("malformed", .invalidInput) }
  /// The file ends within a record; the records before it are good.
  public static var truncated: Self { Self("truncated", .invalidInput) }
  /// The recording does not show the device, or does not say which one is meant.
  public static var deviceNotFound: Self { Self("device not found", .invalidInput) }
  /// The kernel does not let this process see the traffic: the capability CAP_NET_RAW is missing.
  public static var notPermitted: Self { Self("not permitted", .notPermitted) }
  /// The kernel of this host, or its network namespace, has no Bluetooth.
  public static var noBluetooth: Self { Self("no Bluetooth", .unavailable) }
  /// A file cannot be read or written; ``CodedError/errno`` has the kernel's reason.
  public static var storage: Self { Self("storage", .failed) }
}
