import BlueZ

/// The bonded devices of one adapter, or of all adapters.
struct Bonds {
  struct Bond {
    let adapter: String
    let device: Device

    var address: String { device.address?.description ?? device.peer.description }

    var json: JSON {
      .object([
        "address": .string(address), "name": JSON(device.name), "adapter": .string(adapter),
        "connected": .bool(device.isConnected),
      ])
    }
  }

  let all: [Bond]

  static func open(_ options: AdapterOptions) async throws -> Bonds {
    let session = try await Session.open()
    let chosen = try await session.adapter(options.adapter)
    let adapters = options.adapter == nil ? session.adapters : [chosen]
    return Bonds(
      all: adapters.flatMap { adapter in
        adapter.bondedDevices.map { Bond(adapter: adapter.name ?? adapter.address.description, device: $0) }
      })
  }
}
