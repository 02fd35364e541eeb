import DBus

/// The addresses that the kernel needs for a channel.
struct ChannelEnds: Sendable, Hashable {
  let adapter: ObjectPath
  let own: BluetoothAddress
  let ownType: AddressType
  let peer: BluetoothAddress
  let peerType: AddressType
}

/// The ends of the channels that this session tried to open last. From Linux 6.12 on, an attempt that fails makes
/// bluetoothd forget a device that it has only seen, while the kernel needs no more than the addresses for the next one.
struct AttemptedChannels: Sendable {
  /// The number of devices that are remembered.
  static let limit = 64

  private var ends: [ObjectPath: ChannelEnds] = [:]
  private var order: [ObjectPath] = []
  private var generation = 0

  /// Remembers the ends of a channel to a device of an instance of bluetoothd; the devices of an earlier one are gone.
  mutating func note(_ device: ObjectPath, _ new: ChannelEnds, in generation: Int) {
    if self.generation != generation { self = AttemptedChannels(generation: generation) }
    order.removeAll { $0 == device }
    order.append(device)
    ends[device] = new
    if order.count > Self.limit { ends[order.removeFirst()] = nil }
  }

  /// Returns what was noted about a device of an instance of bluetoothd.
  func ends(of device: ObjectPath, in generation: Int) -> ChannelEnds? {
    self.generation == generation ? ends[device] : nil
  }

  init(generation: Int = 0) { self.generation = generation }
}
