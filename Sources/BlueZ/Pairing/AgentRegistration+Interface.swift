import DBus

/// The agent as bluetoothd calls it: `org.bluez.Agent1`.
extension AgentRegistration {
  private typealias Decision = @Sendable () async throws -> [Value]

  func interface() -> Interface {
    let passkey = Interface.Argument("passkey", "u")
    return Interface(
      "org.bluez.Agent1",
      methods: [
        .init("Release") { [weak self] _ in
          self?.released()
          return []
        },
        .init("Cancel") { [weak self] _ in
          self?.questions.cancel()
          return []
        },
        question("RequestConfirmation", [passkey]) { agent, device, shown in
          guard let confirm = agent.confirmPasskey, let passkey = Passkey(shown) else { return nil }
          return { try yes(try await confirm(device, passkey)) }
        },
        question("RequestPasskey", out: [passkey]) { agent, device, _ in
          guard let enter = agent.enterPasskey else { return nil }
          return { [.uint32(try await enter(device).number)] }
        },
        question("RequestAuthorization") { agent, device, _ in
          guard let authorize = agent.authorizePairing else { return nil }
          return { try yes(try await authorize(device)) }
        },
        question("AuthorizeService", [.init("uuid", "s")], isPairing: false) { agent, device, service in
          guard let authorize = agent.authorizeService, let uuid = service?.string.flatMap(BluetoothUUID.init) else {
            return nil
          }
          return { try yes(try await authorize(device, uuid)) }
        },
        .init("DisplayPasskey", in: [.init("device", "o"), passkey, .init("entered", "q")], deferred: display),
        // Only Classic Bluetooth before 2.1 has PIN codes.
        question("RequestPinCode", out: [.init("pincode", "s")]) { _, _, _ in nil },
        question("DisplayPinCode", [.init("pincode", "s")]) { _, _, _ in nil },
      ])
  }

  /// Returns a method that requests a decision about a device; where the agent has no handler the reply is a refusal.
  /// - Parameter isPairing: `true` if the decision is about pairing, `false` for a device that has paired.
  private func question(
    _ name: String, _ input: [Interface.Argument] = [], out output: [Interface.Argument] = [], isPairing: Bool = true,
    _ decision: @escaping @Sendable (PairingAgent, Device, Value?) -> Decision?
  ) -> Interface.Method {
    .init(
      name, in: [.init("device", "o")] + input, out: output,
      deferred: { [weak self] call, reply in
        guard let self, let device = device(of: call) else { return }
        guard !isPairing || mayPair(device) else {
          return questions.refuse(device, reply, "the adapter is not pairable")
        }
        guard let decide = decision(agent, device, call.arguments.dropFirst().first) else {
          return questions.refuse(device, reply, "the agent has no handler for \(name)")
        }
        questions.ask(about: device, reply, decide)
      })
  }

  private var display: @Sendable (Interface.Call, Reply) -> Void {
    { [weak self] call, reply in
      guard let self, let device = device(of: call) else { return }
      guard mayPair(device), let show = agent.displayPasskey, let passkey = Passkey(call.arguments[1]) else {
        return questions.refuse(device, reply, "the agent cannot display a passkey")
      }
      questions.display(passkey, on: device, reply) { await show(device, passkey) }
    }
  }

  /// Returns `true` if a device may pair now. The kernel refuses only peers that require a bond from an adapter that is
  /// not pairable. An encrypted connection without a bond would let a stranger read as much.
  private func mayPair(_ device: Device) -> Bool {
    session.core.state.withLock { state in
      if state.pairing.devices.contains(device.path) { return true }
      let cache = state.cache
      guard let adapter = cache.properties(device.path, Device.interface)?["Adapter"]?.objectPath else { return false }
      return cache.properties(adapter, Adapter.interface)?["Pairable"]?.bool == true
    }
  }

  private func device(of call: Interface.Call) -> Device? {
    call.arguments[0].objectPath.map { Device(session: session, path: $0) }
  }
}

/// The reason of a refusal that bluetoothd receives.
private struct Refusal: Error, CustomStringConvertible {
  let description: String
}

private func yes(_ decision: Bool) throws -> [Value] {
  guard decision else { throw Refusal(description: "the agent refused") }
  return []
}

extension Passkey {
  fileprivate init?(_ value: Value?) {
    guard let number = value?.integer(as: UInt32.self) else { return nil }
    self.init(number)
  }
}
