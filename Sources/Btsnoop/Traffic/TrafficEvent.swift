/// Something that happened in a recording.
public struct TrafficEvent: Sendable, Hashable {
  /// The kinds of what happens.
  public enum Kind: Sendable, Hashable {
    /// An adapter was there, or was added; its address and name where they are known.
    case adapterAdded(DeviceAddress?, name: String)
    /// The address of an adapter is known.
    case adapterIdentified(DeviceAddress)
    /// An adapter was removed from this host.
    case adapterRemoved
    /// A note of the kernel, such as its version.
    case note(String)
    /// This host received an advertisement.
    case advertisement(AdvertisingReport)
    /// This host set the data of its own advertisement or scan response.
    case advertising(isScanResponse: Bool, AdvertisingData)
    /// This host began to connect to a device.
    case connecting(DeviceAddress)
    /// A connection to a device was established.
    case connected(HCIEvent.Connection)
    /// A connection was not made.
    case connectFailed(DeviceAddress, HCIStatus)
    /// The parameters of a connection changed, or the change failed.
    case timingChanged(HCIStatus, LinkTiming)
    /// A peripheral asked for other parameters: the ends of the interval in units of 1.25 ms.
    case timingRequested(least: UInt16, most: UInt16, isFromHost: Bool)
    /// The PHYs of a connection changed.
    case phyChanged(transmit: UInt8, receive: UInt8)
    /// The longest packets of a connection changed, in bytes.
    case dataLengthChanged(transmit: Int, receive: Int)
    /// The ATT MTU of a connection is known: the smaller of both sides', in bytes.
    case mtu(Int)
    /// A connection is encrypted, or is not, or the attempt failed.
    case encryption(HCIStatus, isEncrypted: Bool)
    /// A packet of the Security Manager.
    case pairing(SMPPacket, isFromHost: Bool)
    /// A service that a client found.
    case foundService(AttributeTable.Service, AttributeServer)
    /// A characteristic that a client found.
    case foundCharacteristic(AttributeTable.Characteristic, AttributeServer)
    /// A descriptor that a client found.
    case foundDescriptor(AttributeTable.Descriptor, AttributeServer)
    /// A read or a write.
    case operation(AttributeOperation)
    /// A notification or an indication of a server.
    case value(handle: UInt16, [UInt8], isIndication: Bool, AttributeServer)
    /// A client confirmed an indication of a server.
    case confirmation(AttributeServer)
    /// A channel with credits was opened.
    case channelOpened(TrafficChannel, isFromHost: Bool)
    /// A channel with credits was refused, with the result of the response.
    case channelRefused(psm: UInt16, result: UInt16, isFromHost: Bool)
    /// A message (SDU) on a channel.
    case channelData(TrafficChannel, [UInt8], isFromHost: Bool)
    /// A channel with credits was closed.
    case channelClosed(TrafficChannel, isFromHost: Bool)
    /// The RSSI of a connection, in dBm.
    case rssi(Int)
    /// A connection ended, with its reason.
    case disconnected(HCIStatus)
    /// The recording lost packets: the kernel had them, and the program did not read them in time.
    case lost(Int)
    /// A packet contradicts its format.
    case malformed(String)
  }

  /// The instant in microseconds since 1970, in universal time.
  public var time: Int64
  /// The number N of the adapter `hciN`.
  public var adapter: UInt16
  /// The connection; `nil` for what concerns none.
  public var link: Link?
  /// The kind of the event with its details.
  public var kind: Kind
}
