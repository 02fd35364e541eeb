extension Adapter {
  /// Reads the connection parameters with which the kernel connects to a device that has none of its own. Needs no
  /// privilege.
  /// - Throws: ``BlueZError``: `.noAdapter`, `.timedOut`, `.notSupported` by the kernel (before Linux 5.9).
  public func preferredConnectionParameters() async throws -> ConnectionParameters {
    let doing = "reading the preferred connection parameters of \(address)"
    let reply = try await manage(.readDefaults, doing: doing)
    guard let parameters = ConnectionParameters(defaults: reply) else { throw BlueZError.malformedReply(doing) }
    return parameters
  }

  /// Changes the connection parameters of later connections to devices that have none of their own, for all programs
  /// of this host and until bluetoothd starts again. Needs CAP_NET_ADMIN. Existing connections stay as they are.
  /// - Throws: ``BlueZError``: `.invalidArgument`, `.notPermitted` without the capability, `.noAdapter`, `.timedOut`,
  ///   `.notSupported` by the kernel (before Linux 5.9).
  public func setPreferredConnectionParameters(_ parameters: ConnectionParameters) async throws {
    let doing = "setting the preferred connection parameters of \(address)"
    _ = try await manage(.setDefaults, try parameters.defaults(doing), doing: doing)
  }
}
