import DBus

extension Device {
  /// How long connecting may take, and how often it is tried.
  public struct ConnectOptions: Sendable, Hashable {
    /// The most time for the link of one attempt.
    public var linkTimeout: Duration
    /// The most time for the services to be read.
    public var servicesTimeout: Duration
    /// How often to try; controllers abort a connection now and then while they scan
    /// (`le-connection-abort-by-local`).
    public var attempts: Int
    /// The pause after the first failed attempt; it doubles.
    public var backoff: Duration

    /// Makes options.
    public init(
      linkTimeout: Duration = .seconds(10), servicesTimeout: Duration = .seconds(15), attempts: Int = 3,
      backoff: Duration = .milliseconds(250)
    ) {
      self.linkTimeout = linkTimeout
      self.servicesTimeout = servicesTimeout
      self.attempts = max(attempts, 1)
      self.backoff = backoff
    }
  }

  /// Connects, and waits until the services can be used. Nothing happens when both are so already.
  ///
  /// Cancelling the task gives the attempt up.
  /// - Throws: ``BlueZError``: `.staleHandle`, `.timedOut` with the phase that ran out, `.connectFailed`,
  ///   `.serviceUnavailable`; or `CancellationError`.
  public func connect(_ options: ConnectOptions = ConnectOptions()) async throws {
    var pause = options.backoff
    for attempt in 1... {
      try check()
      do {
        return try await connectOnce(options)
      } catch let error as BlueZError
        where attempt < options.attempts
        && [.connectFailed, .timedOut, .inProgress, .notConnected].contains(error.code)
      {
        core.logger.info("attempt \(attempt) to connect failed", metadata: ["error": "\(error)"])
      }
      try await Task.sleep(for: pause, clock: .steady)
      pause *= 2
    }
  }

  private func connectOnce(_ options: ConnectOptions) async throws {
    let (path, peer, generation, core) = (path, peer, generation, core)
    if !isConnected {
      try await link(options.linkTimeout)
      // bluetoothd 5.66 does not always tell that Connected and ServicesResolved changed.
      try await core.refresh(path, Self.interface, doing: "looking at \(peer)")
    }
    let linked = Lock(false)
    do {
      try await core.wait("reading the services of \(peer)", options.servicesTimeout) { state -> Void? in
        guard state.generation == generation, let device = state.cache.properties(path, Self.interface) else {
          throw BlueZError(.staleHandle, "\(peer) went away while its services were read")
        }
        guard device["Connected"]?.bool == true else {
          if linked.withLock({ $0 }) {
            throw BlueZError(.notConnected, "the link to \(peer) ended while its services were read")
          }
          return nil
        }
        linked.withLock { $0 = true }
        return device["ServicesResolved"]?.bool == true ? () : nil
      }
      try await refreshMTU()
    } catch let error as BlueZError where error.code == .timedOut {
      await giveUp()
      throw error
    }
  }

  /// Makes the link, with the radio to itself.
  private func link(_ timeout: Duration) async throws {
    try await withRadioToItself {
      try await withTaskCancellationHandler {
        do {
          try await core.call(path, Self.interface, "Connect", timeout: timeout, doing: "connecting to \(peer)")
        } catch let error as BlueZError {
          if error.code == .timedOut { await giveUp() }
          throw error.code == .failed || error.code == .attributeError
            ? BlueZError(.connectFailed, error.message, underlying: error.underlying) : error
        }
      } onCancel: {
        Task { await giveUp() }
      }
    }
  }

  /// Has the session not scan while a link is made; without effect when there is one.
  func withRadioToItself(_ body: () async throws -> Void) async throws {
    guard !isConnected else { return try await body() }
    let discovery = property("Adapter")?.objectPath.flatMap(core.discovery(at:))
    await discovery?.pause()
    defer { discovery?.resume() }
    try await body()
  }

  /// Gives up what bluetoothd may still be trying; the next attempt must not meet the end of this one.
  private func giveUp() async {
    do {
      try await core.call(path, Self.interface, "Disconnect", timeout: .seconds(5), doing: "giving up on \(peer)")
    } catch {
      core.logger.debug("nothing to give up", metadata: ["error": "\(error)"])
    }
  }

  /// Ends the link, and waits until it is ended. Without effect when there is none.
  /// - Parameter timeout: bluetoothd takes about two seconds.
  /// - Throws: ``BlueZError`` with code `.staleHandle`, `.timedOut` or `.serviceUnavailable`.
  public func disconnect(timeout: Duration = .seconds(10)) async throws {
    try check()
    guard isConnected else { return }
    let (path, generation) = (path, generation)
    try await core.call(path, Self.interface, "Disconnect", timeout: timeout, doing: "disconnecting \(peer)")
    try await core.wait("disconnecting \(peer)", timeout) { state in
      guard state.generation == generation, let device = state.cache.properties(path, Self.interface) else { return () }
      return device["Connected"]?.bool == true ? nil : ()
    }
  }

  /// Has bluetoothd forget the device, with its bond and what it cached of its services.
  /// - Throws: ``BlueZError``.
  public func remove() async throws {
    try check()
    let adapter = property("Adapter")?.objectPath
    guard let adapter else { throw BlueZError(.staleHandle, "\(peer) belongs to no adapter") }
    try await core.call(adapter, Adapter.interface, "RemoveDevice", [.objectPath(path)], doing: "removing \(peer)")
  }
}
