/// The PHYs that an adapter offers and accepts for its connections, in each direction.
///
/// ```swift
/// var phys = try await adapter.phys()
/// phys.transmit.insert(.twoMegabit)
/// phys.receive.insert(.twoMegabit)
/// try await adapter.setPHYs(transmit: phys.transmit, receive: phys.receive)
/// ```
public struct PHYConfiguration: Sendable, Hashable {
  /// The PHYs that the controller can transmit on.
  public let supportedTransmit: Set<PHY>
  /// The PHYs that the controller can receive on.
  public let supportedReceive: Set<PHY>
  /// The PHYs to transmit on; the controllers of the two ends choose among them.
  public var transmit: Set<PHY>
  /// The PHYs to receive on; the controllers of the two ends choose among them.
  public var receive: Set<PHY>
  /// The bits of the management interface: what is selected, and what of it cannot be changed, Classic included.
  let selected: UInt32
  let fixed: UInt32

  /// - Parameter reply: The reply to Get PHY Configuration: the supported, the configurable and the selected PHYs.
  init?(_ reply: [UInt8]) {
    var reader = LittleEndianReader(reply)
    guard let supported = reader.uint32(), let configurable = reader.uint32(), let selected = reader.uint32() else {
      return nil
    }
    self.selected = selected
    fixed = supported & ~configurable
    supportedTransmit = Self.phys(supported, Self.firstTransmit)
    supportedReceive = Self.phys(supported, Self.firstReceive)
    transmit = Self.phys(selected, Self.firstTransmit)
    receive = Self.phys(selected, Self.firstReceive)
  }

  /// The bits of LE 1M to transmit and to receive; those of 2M and of coded follow at a distance of two.
  private static let firstTransmit = 9
  private static let firstReceive = 10
  /// The bits of LE: the others are the packet types of Classic.
  private static let le: UInt32 = 0b111111 << 9

  private static func bit(_ phy: PHY, _ first: Int) -> UInt32 {
    switch phy {
    case .oneMegabit: 1 << first
    case .twoMegabit: 1 << (first + 2)
    case .coded: 1 << (first + 4)
    }
  }

  private static func phys(_ bits: UInt32, _ first: Int) -> Set<PHY> {
    Set(PHY.allCases.filter { bits & bit($0, first) != 0 })
  }

  /// Returns the parameters of Set PHY Configuration that select these PHYs, and leave those of Classic as they are.
  func selection(transmit: Set<PHY>, receive: Set<PHY>, _ doing: String) throws -> [UInt8] {
    guard transmit.isSubset(of: supportedTransmit), receive.isSubset(of: supportedReceive) else {
      throw BlueZError(.notSupported, "\(doing): the controller does not support all of the PHYs")
    }
    let chosen =
      transmit.reduce(0) { $0 | Self.bit($1, Self.firstTransmit) }
      | receive.reduce(0) { $0 | Self.bit($1, Self.firstReceive) }
    return (selected & ~Self.le | chosen | fixed).littleEndianBytes
  }
}

extension Adapter {
  /// Reads the PHYs of the adapter from the kernel. Needs CAP_NET_ADMIN. ``L2CAPChannel/phy`` is that of a connection.
  /// - Throws: ``BlueZError``: `.notPermitted` without the capability, `.noAdapter`, `.notSupported` by the kernel,
  ///   `.timedOut`.
  public func phys() async throws -> PHYConfiguration {
    let doing = "reading the PHYs of \(address)"
    guard let phys = PHYConfiguration(try await manage(.getPHYs, doing: doing)) else {
      throw BlueZError.malformedReply(doing)
    }
    return phys
  }

  /// Selects the PHYs for later connections of the adapter, for all programs of this host and until bluetoothd starts
  /// again. Needs CAP_NET_ADMIN. The kernel adds those that cannot be left out, such as LE 1M.
  /// - Parameters:
  ///   - transmit: The PHYs to transmit on.
  ///   - receive: The PHYs to receive on.
  /// - Throws: ``BlueZError``: `.notSupported` by the controller; `.notPermitted` without the capability, `.notPowered`,
  ///   `.noAdapter`, `.timedOut`.
  public func setPHYs(transmit: Set<PHY>, receive: Set<PHY>) async throws {
    let doing = "selecting the PHYs of \(address)"
    let selection = try await phys().selection(transmit: transmit, receive: receive, doing)
    guard isPowered else {
      throw BlueZError(.notPowered, "\(doing): the adapter is switched off", hint: "switch it on before")
    }
    _ = try await manage(.setPHYs, selection, doing: doing)
  }
}
