import BlueZ
import EdgeCoder
import JSONValues

/// The bonded devices of one adapter, or of all adapters.
struct Bonds {
  struct Bond {
    let adapter: Adapter
    let device: Device

    /// The roles in which a user has admitted the device; none for a bond that was made otherwise.
    var roles: [BondStore.PeerRole]

    var address: String { device.address?.description ?? device.peer.description }

    /// The keys of the bond; `nil` if they may not be read.
    var key: BondKey? { device.address.flatMap { BondKey.read($0, at: adapter.address) } }

    var adapterName: String { adapter.name ?? adapter.address.description }

    var json: JSONValue {
      .object([
        "address": .string(address), "name": JSONValue(device.name), "adapter": .string(adapterName),
        "connected": .bool(device.isConnected),
        "roles": .array(roles.map { .string($0.rawValue) }), "key": JSONValue(key?.name),
      ])
    }
  }

  let all: [Bond]

  static func open(_ options: AdapterOptions, _ store: BondStore) async throws -> Bonds {
    let session = try await Session.open()
    let chosen = try await session.adapter(options.adapter)
    let adapters = options.adapter == nil ? session.adapters : [chosen]
    let admitted = try store.bonds()
    return Bonds(
      all: adapters.flatMap { adapter in
        adapter.bondedDevices.map { device in
          Bond(
            adapter: adapter, device: device,
            roles: admitted.filter { $0.adapter == adapter.address && $0.peer == device.address }.map(\.role))
        }
      })
  }
}
