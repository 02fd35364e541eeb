internal import AudioIngest
internal import BlueZ
internal import Timing

extension WearableRecorder {
  private static let tick = Duration.milliseconds(250)

  /// Performs the actions of the connection's state machine until the task is cancelled.
  func record() async {
    var actions = handle(.start(isKnown: memory.withLock { $0.address != nil }))
    var subscription: Subscription?
    while !Task.isCancelled, let action = actions.first {
      do {
        switch action {
        case .search(let timeout):
          try await search(timeout)
          actions = handle(.found)
        case .connect(let timeout):
          try await connect(timeout)
          actions = handle(.connected)
        case .subscribe(let timeout):
          subscription = try await within(timeout, "subscribing to the audio") { try await self.subscribe() }
          actions = handle(.subscribed)
        case .stream:
          actions = try await stream(subscription)
          subscription = nil
        case .wait(let delay):
          subscription = nil
          await disconnect()
          await sealStored()
          try await Task.sleep(for: delay, clock: .steady)
          actions = handle(.waited)
        case .probe: return
        }
      } catch {
        guard !Task.isCancelled else { break }
        publish(.problem("\(error)"))
        actions = handle(.failed)
      }
    }
    await feed.end(.shutdown)
    await disconnect()
    await sealStored()
  }

  private func handle(_ event: ConnectionMachine.Event) -> [ConnectionMachine.Action] {
    let now = settings.now().instant
    let (before, actions, state) = connection.withLock { machine in
      let before = machine.state
      return (before, machine.handle(event, at: now), machine.state)
    }
    if state != before { publish(.state(state)) }
    return actions
  }

  private func within<Value: Sendable>(
    _ limit: Duration, _ doing: String, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await TimeSource.continuous.withLimit(
      limit, orThrow: AudioIngestError(.timedOut, "\(doing) timed out after \(limit)")
    ) {
      try await work()
    }
  }

  private func search(_ timeout: Duration) async throws {
    let found = try await adapter.discover(.init(services: wearable.advertisedServices))
    let address = try await within(timeout, "scanning for a wearable") {
      for await result in found where !result.isLost {
        if let address = result.device.address { return address }
      }
      throw BlueZError(.serviceUnavailable, "the scan for wearables ended")
    }
    memory.withLock { $0.address = address }
  }

  private func connect(_ timeout: Duration) async throws {
    guard let address = memory.withLock({ $0.address }) else { return }
    let required: [BluetoothUUID: Set<BluetoothUUID>] = [wearable.audio.service: [wearable.audio.characteristic]]
    let connection = try await adapter.connect(to: address, .direct(timeout: timeout, attempts: 1), requiring: required)
    let device = try await connection.device()
    memory.withLock { $0.device = device }
    try await protect(device, address)
  }

  /// The subscription to the audio of one connection.
  private struct Subscription: Sendable {
    let device: Device
    let values: Notifications
    /// The codec; `nil` if it is unsupported.
    let codec: AudioCodec?
    /// The time of the connection, in Unix milliseconds.
    let linkedAtMs: Int64
    let audioDevice: AudioDevice
  }

  /// Subscribes to the audio, and only then reads the codec: a device drops audio without a subscriber.
  private func subscribe() async throws -> Subscription {
    guard let device = memory.withLock({ $0.device }) else { throw BlueZError(.notConnected, "no device is connected") }
    let linkedAtMs = settings.now().wallMs
    let audio = try device.characteristic(wearable.audio.characteristic, in: wearable.audio.service)
    let values = try await audio.notifications(limit: 4096, overflow: .dropNewest)
    let address = device.address?.description ?? device.peer.description
    let audioDevice = AudioDevice(address: address, name: device.name)
    let codec = try await begin(audioDevice) { try await self.wearable.codec(of: device) }
    if choosesDevice, let address = device.address {
      do throws(AudioIngestError) {
        if try folder.remembered(address, of: wearable) == nil { try folder.remember([address], of: wearable) }
      } catch {
        publish(.problem("the device's address could not be stored for the next run: \(error)"))
      }
    }
    return Subscription(
      device: device, values: values, codec: codec, linkedAtMs: linkedAtMs, audioDevice: audioDevice)
  }

  /// Records the following notifications with the codec that a device reports, or as they are if it is unsupported.
  /// - Returns: The codec; `nil` if it is unsupported, or the device does not report it.
  private func begin(
    _ device: AudioDevice, readingCodec: () async throws -> AudioCodec?
  ) async throws -> AudioCodec? {
    do {
      let codec = try await readingCodec()
      if let codec { try await feed.begin(device, codec) }
      return codec
    } catch let error as AudioIngestError where error.code == .unknownCodec {
      if try await feed.beginRaw() { publish(.problem("\(error)")) }
      return nil
    }
  }

  /// Performs what the live audio does not wait for: sets the clock, reads the model, and then fetches stored audio for as
  /// long as the connection lasts.
  private func attend(to subscription: Subscription) async {
    let device = subscription.device
    do {
      try await wearable.setClock(of: device, unixSeconds: UInt32(clamping: settings.now().wallMs / 1000))
    } catch {
      guard !Task.isCancelled else { return }
      // Live audio is recorded all the same; only stored audio has a wrong time.
      publish(.problem("setting the device's clock failed: \(error)"))
    }
    do {
      let service = try await readProfile(of: device).store
      guard settings.fetchesStored, let codec = subscription.codec, let service else { return }
      await fetchStored(
        Store(
          device: subscription.audioDevice, codec: codec, service: service, linkedAtMs: subscription.linkedAtMs),
        of: device)
    } catch {
      guard !Task.isCancelled else { return }
      publish(.problem("reading the device's model failed: \(error)"))
    }
  }

  /// Reads the model, and publishes the obstacles to its audio.
  private func readProfile(of device: Device) async throws -> WearableProfile {
    let profile = try await wearable.profile(of: device)
    memory.withLock { $0.profile = profile }
    if let mtu = device.mtu, let least = profile.smallestMTU, mtu < least {
      publish(.problem("the ATT MTU is \(mtu) bytes; all audio of this device needs at least \(least)"))
    }
    for remark in profile.remarks { publish(.problem(remark)) }
    return profile
  }

  /// Records notifications until there are no more, and supervises the connection meanwhile.
  private func stream(_ subscription: Subscription?) async throws -> [ConnectionMachine.Action] {
    guard let subscription else { return handle(.failed) }
    let values = subscription.values
    let actions = await withTaskGroup(of: [ConnectionMachine.Action]?.self) { group in
      group.addTask {
        do {
          for try await value in values {
            await self.feed.receive(value)
            _ = self.handle(.arrived)
          }
        } catch {
          self.publish(.problem("\(error)"))
        }
        return Task.isCancelled ? nil : self.handle(.failed)
      }
      group.addTask { await self.supervise(subscription.audioDevice) }
      group.addTask {
        // The stream continues when this ends.
        await self.attend(to: subscription)
        return nil
      }
      var actions: [ConnectionMachine.Action]?
      // The task that first finds the connection lost ends the others, and only one of them gets the next action.
      for await case let result? in group {
        if !result.isEmpty { actions = result }
        group.cancelAll()
      }
      return actions
    }
    if values.dropped > 0 { publish(.problem("\(values.dropped) notifications were dropped: reading was too slow")) }
    guard let actions else { throw CancellationError() }
    await feed.end(.linkLoss)
    return actions
  }

  /// Supervises the connection.
  /// - Returns: The actions when the connection is lost; `nil` when the task is cancelled.
  private func supervise(_ audioDevice: AudioDevice) async -> [ConnectionMachine.Action]? {
    while true {
      do {
        try await Task.sleep(for: Self.tick, clock: .steady)
      } catch {
        return nil
      }
      await feed.tick()
      guard handle(.passed) == [.probe], let device = memory.withLock({ $0.device }) else { continue }
      do {
        // The device may be silent because it changes its codec.
        _ = try await begin(audioDevice) {
          try await self.within(ConnectionMachine.probeTimeout, "probing the device") {
            try await self.wearable.probe(device)
          }
        }
        _ = handle(.probed(true))
      } catch let error as AudioIngestError where error.code != .timedOut {
        publish(.problem("\(error)"))
        _ = handle(.probed(true))
      } catch {
        guard !Task.isCancelled else { return nil }
        let actions = handle(.probed(false))
        guard !actions.isEmpty else { continue }
        publish(.problem("no audio arrives, and the device does not respond: \(error)"))
        return actions
      }
    }
  }

  /// Disconnects the device; in a task of its own, so that it also happens when this one is cancelled.
  private func disconnect() async {
    guard let device = memory.withLock({ $0.device }) else { return }
    memory.withLock {
      $0.device = nil
      $0.name = device.name ?? $0.name
    }
    do {
      try await Task { try await device.disconnect() }.value
    } catch {
      publish(.problem("\(error)"))
    }
  }
}
