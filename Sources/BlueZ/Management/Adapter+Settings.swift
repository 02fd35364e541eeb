import Glibc
import Streams

extension Adapter {
  /// Reads the settings of the adapter from the kernel. Needs no privilege, but a network namespace with Bluetooth.
  /// - Throws: ``BlueZError``: `.noAdapter`, `.timedOut`; `.notSupported` or `.notPermitted` where the kernel has no
  ///   Bluetooth or this program no access to it.
  public func settings() async throws -> AdapterSettings {
    let doing = "reading the settings of \(address)"
    guard let index = try requirePath().controllerIndex,
      var settings = AdapterSettings(try await manage(.readInformation, doing: doing))
    else { throw BlueZError.malformedReply(doing) }
    settings.requiresSecureConnections = Self.requiresSecureConnections(index)
    return settings
  }

  /// Reads `sc_only_mode` of debugfs, which is `Y` or `N`.
  private static func requiresSecureConnections(_ index: UInt16) -> Bool? {
    let number = open("/sys/kernel/debug/bluetooth/hci\(index)/sc_only_mode", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    var letter: UInt8 = 0
    guard file.withNumber({ read($0, &letter, 1) }) == 1 else { return nil }
    return letter == UInt8(ascii: "Y")
  }

  /// Chooses whether pairing uses Secure Connections, for all programs of this host and until bluetoothd starts again,
  /// which then applies `SecureConnections` of its `main.conf`.
  ///
  /// ```swift
  /// try await adapter.setSecureConnections(.required)
  /// ```
  ///
  /// Needs CAP_NET_ADMIN. Bonds that exist stay, also those from legacy pairing.
  /// - Throws: ``BlueZError``: `.notPermitted` without the capability, `.notSupported` by the controller, `.noAdapter`,
  ///   `.timedOut`.
  public func setSecureConnections(_ use: AdapterSettings.SecureConnections) async throws {
    _ = try await manage(
      .setSecureConnections, [use.rawValue], doing: "setting the Secure Connections of \(address)")
  }

  /// Chooses whether the adapter uses private addresses, for all programs of this host and until bluetoothd starts
  /// again, which then applies `Privacy` of its `main.conf`.
  ///
  /// ```swift
  /// try await adapter.setPowered(false)
  /// try await adapter.setPrivacy(.off)
  /// try await adapter.setPowered(true)
  /// ```
  ///
  /// Needs CAP_NET_ADMIN, and an adapter that is switched off.
  /// - Throws: ``BlueZError``: `.notPermitted` without the capability, or while the adapter is switched on;
  ///   `.invalidArgument` for a key that has not 16 bytes; `.notSupported` by the controller, `.noAdapter`, `.timedOut`.
  public func setPrivacy(_ privacy: AdapterSettings.Privacy) async throws {
    let doing = "setting the privacy of \(address)"
    let parameters = privacy.parameters
    guard parameters.count == 17 else {
      throw BlueZError(.invalidArgument, "\(doing): the key has \(parameters.count - 1) bytes; allowed: 16")
    }
    guard !isPowered else {
      throw BlueZError(.notPermitted, "\(doing): the adapter is switched on", hint: "switch it off before")
    }
    _ = try await manage(.setPrivacy, parameters, doing: doing)
  }
}
