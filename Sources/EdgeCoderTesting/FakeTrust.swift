package import BlueZ
package import BlueZTesting
package import EdgeCoder
internal import FoundationEssentials
package import Streams
internal import SystemTesting
package import Timing

/// A fake BlueZ whose connections are encrypted as soon as both ends are paired, as a kernel reports it, unless a test
/// says that whoever is connected has no keys.
package struct FakeTrust: Sendable {
  /// Releases in which bluetoothd notifies in another way: one socket for all subscribers, one for each but a value to
  /// all, and one for each.
  package static let releases = [BlueZRelease(5, 66), BlueZRelease(5, 72), BlueZRelease(5, 82)]

  package let lab: FakeBlueZ
  /// A Boolean value that indicates whether the kernel reports the connections of paired devices as encrypted.
  package let isEncrypted = Lock(true)
  /// The number of times that the kernel was asked for its connections.
  package let questions = Counter()
  /// The folder of the list of bonds.
  package let folder: String

  package static func start(adapters: Int = 2, release: BlueZRelease = BlueZRelease(5, 82)) async throws -> FakeTrust {
    FakeTrust(
      lab: try await FakeBlueZ.start(adapters: adapters, .init(version: release, mtu: 185)),
      folder: FileManager.default.temporaryDirectory.path + "/bonds-\(UUID().uuidString)")
  }

  package func stop() async throws {
    try await lab.stop()
    if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
  }

  package var bonds: BondStore { BondStore(folder: folder) }

  package func phone(
    _ index: Int, access: AccessPolicy, bonds: BondStore? = nil, links: Set<MuxBearer> = []
  ) async throws -> BlueZPhoneTransport {
    try await BlueZPhoneTransport.start(
      on: try await lab.adapter(index), name: "EdgeCoder-\(index)", access: access, bonds: bonds, muxBearers: links,
      connections: connections(isCentral: false))
  }

  /// The control of the accesses to a phone, as its transport has one.
  package func control(
    _ index: Int, _ access: AccessPolicy, time: TimeSource = .continuous
  ) async throws -> AccessControl {
    AccessControl(
      try await lab.adapter(index), access, bonds: bonds, time: time, connections: connections(isCentral: false))
  }

  package func central(
    _ index: Int, access: AccessPolicy, bonds: BondStore? = nil, phones: Int = 5
  ) async throws -> Central {
    let hardware = lab.adapters[index]
    let radio = BlueZPhoneRadio(
      adapter: try await lab.adapter(index), access: access, bonds: bonds, logger: .init(label: "test"),
      connections: connections(isCentral: true),
      security: { device, level in
        guard let address = device.address else { return false }
        return await hardware.securityLevel(to: address) ?? .low >= level
      })
    var configuration = CentralConfiguration()
    configuration.phoneLimit = phones
    configuration.reconnection.backoff.limit = .milliseconds(200)
    return Central(scanner: radio, connector: radio, configuration: configuration)
  }

  /// Returns what the kernel says of an adapter's connections.
  /// - Parameter isCentral: A Boolean value that indicates whether the adapter made the connections.
  package func connections(isCentral: Bool) -> KernelConnections {
    { [isEncrypted, questions] adapter in
      questions.increment()
      return adapter.devices.filter(\.isConnected).compactMap { device in
        device.address.map {
          ConnectionInfo(
            address: $0, isEncrypted: device.isPaired && isEncrypted.withLock { $0 }, isCentral: isCentral)
        }
      }
    }
  }

  /// Pairs a central's adapter with a phone's, as two users do.
  /// - Parameter compares: A Boolean value that indicates whether the users compare a number.
  package func pair(_ central: Int, with phone: Int, compares: Bool = false) async throws {
    let near = try await lab.adapter(central)
    let far = try await lab.adapter(phone)
    let user =
      compares
      ? PairingAgent(displayPasskey: { _, _ in }, confirmPasskey: { _, _ in true })
      : PairingAgent(authorizePairing: { _ in true })
    // The last agent is the default one, whose capability a central tells from 5.81 on.
    let agents = [try await near.session.register(user), try await far.session.register(user)]
    let windows = [
      try await near.openPairingWindow(for: .seconds(60)), try await far.openPairingWindow(for: .seconds(60)),
    ]
    try await near.find(far.address, timeout: .seconds(20)).pair()
    for window in windows { try await window.close() }
    for agent in agents { try await agent.unregister() }
  }

  /// Adds the bond of an adapter with a peer in a role to the list, as `edgeblue pair` does.
  package func admit(
    _ peer: Int, at own: Int, as role: BondStore.PeerRole, madeMs: Int64 = WallClock.unixMilliseconds()
  ) throws {
    let adapter = lab.adapters[own].address
    try bonds.add(.init(adapter: adapter, peer: lab.adapters[peer].address, role: role, madeMs: madeMs))
  }

  package func device(_ phone: Int, seenBy central: Int) async throws -> Device {
    try await lab.adapter(central).find(lab.adapters[phone].address, timeout: .seconds(20))
  }
}

/// An engine that records what it was asked, and repeats it.
package final class CuriousEngine: Engine {
  package let name = "curious"
  package let prompts = Lock<[String]>([])

  package init() {}

  package func modelState() async -> ModelState { .ready }

  package func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    prompts.withLock { $0.append(request.prompt) }
    return AsyncThrowingStream { continuation in
      continuation.yield(.text(request.prompt))
      continuation.finish()
    }
  }
}

extension Central {
  /// Waits until a number of phones is ready.
  package func waitUntilReady(_ count: Int = 1) async throws {
    try await eventually { await self.status().phones.count { $0.state == "ready" } == count }
  }

  /// Waits until the central refuses the prompt for a reason that contains a text.
  package func waitForRefusal(_ reason: String) async throws {
    try await eventually {
      do {
        _ = try await self.generate(prompt: "for friends only", maxTokens: nil)
        return false
      } catch let error as InferenceError {
        return error.message.contains(reason)
      }
    }
  }
}
