internal import BlueZ
internal import DBus
internal import Timing

extension WearableRecorder {
  private static let tick = Duration.milliseconds(250)

  /// Does what the link's machine says, until the task is cancelled.
  func record() async {
    var action = handle(.start(isKnown: memory.withLock { $0.address != nil }))
    var subscription: Subscription?
    while !Task.isCancelled {
      do {
        switch action {
        case .search(let limit):
          try await search(limit)
          action = handle(.found)
        case .connect(let limit):
          try await connect(limit)
          action = handle(.connected)
        case .subscribe(let limit):
          subscription = try await within(limit, "subscribing") { try await self.subscribe() }
          action = handle(.subscribed)
        case .stream:
          action = try await stream(subscription)
          subscription = nil
        case .wait(let pause):
          subscription = nil
          await endLink()
          await settleStored()
          try await Task.sleep(for: pause, clock: .steady)
          action = handle(.waited)
        case .nothing, .probe: return
        }
      } catch {
        guard !Task.isCancelled else { break }
        tell(.problem("\(error)"))
        action = handle(.failed)
      }
    }
    await feed.end(.shutdown)
    await endLink()
    await settleStored()
  }

  private func handle(_ event: LinkMachine.Event) -> LinkMachine.Action {
    let (before, action, state) = link.withLock { link in
      let before = link.state
      return (before, link.handle(event, at: now().instant), link.state)
    }
    if state != before { tell(.state(state)) }
    return action
  }

  private func within<Value: Sendable>(
    _ limit: Duration, _ doing: String, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await TimeSource.continuous.withLimit(limit, orThrow: AudioIngestError(.timedOut, "\(doing) took too long")) {
      try await work()
    }
  }

  private func search(_ limit: Duration) async throws {
    let sightings = try await adapter.discover(.init(services: wearable.advertisedServices))
    let address = try await within(limit, "looking for a wearable") {
      for await sighting in sightings where !sighting.isLost {
        if let address = sighting.device.address { return address }
      }
      throw BlueZError(.serviceUnavailable, "the scan for wearables ended")
    }
    memory.withLock { $0.address = address }
  }

  private func connect(_ limit: Duration) async throws {
    guard let address = memory.withLock({ $0.address }) else { return }
    let required: [BluetoothUUID: Set<BluetoothUUID>] = [wearable.audio.service: [wearable.audio.characteristic]]
    let connection = try await adapter.connect(to: address, .direct(timeout: limit, attempts: 1), requiring: required)
    let device = try await connection.device()
    memory.withLock { $0.device = device }
  }

  /// What a link is about.
  private struct Subscription: Sendable {
    let device: Device
    let values: Notifications
    /// `nil` when nobody here knows it.
    let codec: AudioCodec?
    /// When the link was made, in Unix milliseconds.
    let linkedAtMs: Int64
    let audioDevice: AudioDevice
  }

  /// Subscribes first: what a device says to nobody it forgets.
  private func subscribe() async throws -> Subscription {
    guard let device = memory.withLock({ $0.device }) else { throw BlueZError(.notConnected, "there is no device") }
    let linkedAtMs = now().wallMs
    let audio = try device.characteristic(wearable.audio.characteristic, in: wearable.audio.service)
    let values = try await audio.notifications(limit: 4096, overflow: .dropNewest)
    let address = device.address?.description ?? device.peer.description
    let audioDevice = AudioDevice(address: address, name: device.name)
    let codec = try await listen(to: audioDevice) { try await self.wearable.codec(of: device) }
    if isChosenHere, let address = device.address {
      do throws(AudioIngestError) {
        try folder.remember(address, for: wearable)
      } catch {
        tell(.problem("the device will not be known the next time: \(error)"))
      }
    }
    return Subscription(
      device: device, values: values, codec: codec, linkedAtMs: linkedAtMs, audioDevice: audioDevice)
  }

  /// Takes what comes for what a device says that it is; what nobody here knows is kept as it comes.
  /// - Returns: its codec; `nil` when it is not known, or the answer does not say.
  private func listen(
    to device: AudioDevice, asking: () async throws -> AudioCodec?
  ) async throws -> AudioCodec? {
    do {
      let codec = try await asking()
      if let codec { try await feed.begin(device, codec) }
      return codec
    } catch let error as AudioIngestError where error.code == .unknownCodec {
      if try await feed.beginRaw() { tell(.problem("\(error)")) }
      return nil
    }
  }

  /// Asks the device what its audio does not wait for, tells it the time, and then fetches what it has stored for as long
  /// as the link lasts.
  private func attend(to subscription: Subscription) async {
    let device = subscription.device
    do {
      try await wearable.setClock(of: device, unixSeconds: UInt32(clamping: now().wallMs / 1000))
    } catch {
      guard !Task.isCancelled else { return }
      // It records all the same; only what it stores by itself has a wrong time.
      tell(.problem("the device does not take the time: \(error)"))
    }
    do {
      let format = try await look(at: device).stored
      guard fetchesStored, let codec = subscription.codec, let format else { return }
      await fetchStored(
        Store(device: subscription.audioDevice, codec: codec, format: format, linkedAtMs: subscription.linkedAtMs),
        of: device)
    } catch {
      guard !Task.isCancelled else { return }
      tell(.problem("the device does not say which model it is: \(error)"))
    }
  }

  /// Looks which model it is, and says what stands in the way of its audio.
  private func look(at device: Device) async throws -> WearableProfile {
    let profile = try await wearable.profile(of: device)
    memory.withLock { $0.profile = profile }
    if let mtu = device.mtu, let least = profile.smallestMTU, mtu < least {
      tell(.problem("the link takes packets of \(mtu) bytes; below \(least) not all audio of this device comes"))
    }
    for remark in profile.remarks { tell(.problem(remark)) }
    return profile
  }

  /// Takes notifications until there are no more, and watches over the link meanwhile.
  private func stream(_ subscription: Subscription?) async throws -> LinkMachine.Action {
    guard let subscription else { return handle(.failed) }
    let values = subscription.values
    let action = await withTaskGroup(of: LinkMachine.Action?.self) { group in
      group.addTask {
        do {
          for try await value in values {
            await self.feed.take(value)
            _ = self.handle(.arrived)
          }
        } catch {
          self.tell(.problem("\(error)"))
        }
        return Task.isCancelled ? nil : self.handle(.failed)
      }
      group.addTask { await self.watch(subscription.audioDevice) }
      group.addTask {
        // Its end is no end of the stream.
        await self.attend(to: subscription)
        return nil
      }
      var action: LinkMachine.Action?
      // Whoever notices first that the link is gone ends the others, and only one of them is told what to do.
      for await case let result? in group {
        if result != .nothing { action = result }
        group.cancelAll()
      }
      return action
    }
    if values.dropped > 0 { tell(.problem("\(values.dropped) notifications were not read in time")) }
    guard let action else { throw CancellationError() }
    await feed.end(.linkLoss)
    return action
  }

  /// - Returns: what is to be done when the link is dead; `nil` when the task is cancelled.
  private func watch(_ audioDevice: AudioDevice) async -> LinkMachine.Action? {
    while true {
      do {
        try await Task.sleep(for: Self.tick, clock: .steady)
      } catch {
        return nil
      }
      await feed.tick()
      guard handle(.passed) == .probe, let device = memory.withLock({ $0.device }) else { continue }
      do {
        // It may have been muted because it goes on as something else.
        _ = try await listen(to: audioDevice) {
          try await self.within(LinkMachine.probeLimit, "asking the device") { try await self.wearable.probe(device) }
        }
        _ = handle(.probed(true))
      } catch let error as AudioIngestError where error.code != .timedOut {
        tell(.problem("\(error)"))
        _ = handle(.probed(true))
      } catch {
        guard !Task.isCancelled else { return nil }
        tell(.problem("no audio comes and the device does not answer: \(error)"))
        return handle(.probed(false))
      }
    }
  }

  /// Ends what there is of a link; on its own task, so that it also happens when this one is cancelled.
  private func endLink() async {
    guard let device = memory.withLock({ $0.device }) else { return }
    memory.withLock { ($0.device, $0.name) = (nil, device.name ?? $0.name) }
    do {
      try await Task { try await device.disconnect() }.value
    } catch {
      tell(.problem("\(error)"))
    }
  }
}
