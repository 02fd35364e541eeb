import DBus

/// `org.bluez.LEAdvertisingManager1`.
extension Daemon {
  /// As many as common controllers have.
  private static let instances = 5

  func advertisingManager(_ index: Int) -> ServedObject.Part {
    ServedObject.Part(
      name: Names.advertisingManager,
      types: [
        "ActiveInstances": "y", "SupportedInstances": "y", "SupportedIncludes": "as",
        "SupportedCapabilities": "a{sv}", "SupportedFeatures": "as",
      ],
      values: [
        "ActiveInstances": .byte(0), "SupportedInstances": .byte(UInt8(Self.instances)),
        "SupportedIncludes": .strings(["tx-power", "appearance", "local-name"]),
        "SupportedCapabilities": .properties(["MaxAdvLen": .byte(31), "MaxScnRspLen": .byte(31)]),
        "SupportedFeatures": .strings([]),
      ],
      methods: [
        method(
          "RegisterAdvertisement", [.init("advertisement", "o"), .init("options", "a{sv}")], of: index
        ) { daemon, call in
          try await daemon.begin(try client(of: call), at: daemon.adapters[index])
          return []
        },
        method("UnregisterAdvertisement", [.init("advertisement", "o")], of: index) { daemon, call in
          guard daemon.end(try client(of: call), at: daemon.adapters[index]) else { throw DBusError.doesNotExist }
          return []
        },
      ])
  }

  private func begin(_ client: VirtualAdapter.Client, at adapter: VirtualAdapter) async throws {
    guard adapter.clients.advertisements[client] == nil else { throw DBusError.alreadyExists }
    guard adapter.clients.advertisements.count < Self.instances else {
      throw DBusError.bluez("NotPermitted", "Maximum advertisements reached")
    }
    let addressee = addressee(adapter.index)
    let index = adapter.index
    let changes = try await living().observe(
      MatchRule(sender: client.name, path: client.path, member: "PropertiesChanged")
    ) { [weak self] _ in Task { await self?.readAgain(client, at: index) } }
    let properties = try await RemoteObject(try living(), client.name, client.path).getAll(Names.advertisement)
    try expect(addressee)
    try expect(client.name)
    guard adapter.isPowered else { throw DBusError.bluez("Failed", "Failed to register advertisement") }
    let content = try AirAdvertisement(properties, alias: adapter.alias)
    adapter.clients.advertisements[client] = .init(content: content, isOnAir: true, changes: changes)
    countAdvertisements(adapter)
    report(adapter)
  }

  /// Takes the content of an advertisement that a program has changed. What cannot be read stays as it was.
  private func readAgain(_ client: VirtualAdapter.Client, at index: Int) async {
    do {
      let properties = try await RemoteObject(try living(), client.name, client.path).getAll(Names.advertisement)
      let adapter = adapters[index]
      let content = try AirAdvertisement(properties, alias: adapter.alias)
      guard adapter.clients.advertisements[client] != nil else { return }
      adapter.clients.advertisements[client]?.content = content
      report(adapter)
    } catch {
      logger.debug("advertisement not changed", metadata: ["error": "\(error)"])
    }
  }

  /// - Returns: whether there was one.
  @discardableResult
  func end(_ client: VirtualAdapter.Client, at adapter: VirtualAdapter) -> Bool {
    guard adapter.clients.advertisements.removeValue(forKey: client) != nil else { return false }
    countAdvertisements(adapter)
    fellSilent(adapter)
    return true
  }

  /// Tells a program that its advertisement has ended.
  func release(_ client: VirtualAdapter.Client) {
    do {
      try connection?.callWithoutReply(client.name, client.path, Names.advertisement, "Release")
    } catch {
      logger.debug("Release not sent", metadata: ["error": "\(error)"])
    }
  }

  private func countAdvertisements(_ adapter: VirtualAdapter) {
    let count = adapter.clients.advertisements.count
    adapter.object?.set(
      Names.advertisingManager,
      ["ActiveInstances": .byte(UInt8(count)), "SupportedInstances": .byte(UInt8(Self.instances - count))])
  }
}

/// The client that calls, and the object of its that it names first.
func client(of call: Interface.Call) throws -> VirtualAdapter.Client {
  guard let name = call.sender, let path = call.arguments.first?.objectPath else {
    throw DBusError.bluez("InvalidArguments", "Invalid arguments in method call")
  }
  return .init(name: name, path: path)
}
