import DBus

/// Unregisters what was declared.
///
/// A declaration is taken back at once, and undone in its lane: after an attempt to establish or restore it that is
/// under way.
extension SessionCore {
  /// Removes a registration from the registry and from bluetoothd. Where bluetoothd, the adapter or the registration is
  /// gone there is nothing to unregister, which is no failure.
  /// - Parameter id: Its identifier; `nil` when it was removed before.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  func takeDown(_ id: Int?) async throws {
    guard let id, let registration = state.withLock({ $0.registry.withdraw(id) }) else { return }
    try await lane(registration.lane).run { [self] in try await undo(id) }
  }

  /// Does the same for a handle without owner; a failure is logged, because no caller waits.
  func takeDownQuietly(_ id: Int?) {
    guard let id, let registration = state.withLock({ $0.registry.withdraw(id) }) else { return }
    lane(registration.lane).enqueue { [self] in
      do {
        try await undo(id)
      } catch {
        logger.info("\(registration.title) was not unregistered", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Removes a registration that bluetoothd has ended by itself.
  func forget(_ id: Int) { state.withLock { _ = $0.registry.remove(id) } }

  /// Undoes a registration where bluetoothd may have it.
  func undo(_ id: Int) async throws {
    let known = state.withLock { state -> (any Registration, ObjectPath)? in
      guard let entry = state.registry.entry(withdrawn: id),
        let instance = Self.instance(for: entry.registration, in: state),
        entry.mayExist(at: instance)
      else { return nil }
      return (entry.registration, instance.path)
    }
    // Until then the end of the session must know of it.
    defer { forget(id) }
    guard let (registration, path) = known else { return }
    do {
      try await registration.undoing.body(self, path)
    } catch let error as BlueZError where error.meansGone {
      logger.debug("\(registration.title) was gone already", metadata: ["error": "\(error)"])
    }
    if registration.lane == .pairing, registration.place == .service { reopenWindows() }
  }

  /// Opens the pairing windows again, which bluetoothd may have closed with the last agent.
  private func reopenWindows() {
    let windows = state.withLock { $0.registry.entries.values.map(\.registration) }
      .filter { $0.lane == .pairing && $0.place != .service }
    for window in windows { dropped(window) }
  }

  /// Sets what bluetoothd would keep after this program, without waiting for it.
  func clear(_ leftovers: [(ObjectPath, Undoing.Leftover)], over connection: Connection) {
    for (path, leftover) in leftovers {
      do {
        try connection.callWithoutReply(
          Self.service, path, InterfaceName.properties, "Set",
          [.string(leftover.interface), .string(leftover.property), .variant(leftover.value)])
      } catch {
        logger.debug("\(leftover.property) of \(path) was not reset", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Returns the queue of a lane.
  func lane(_ lane: RegistrationLane) -> SerialQueue {
    guard lane != .pairing else { return pairingSteps }
    return state.withLock { state in
      if let known = state.lanes[lane] { return known }
      let new = SerialQueue()
      state.lanes[lane] = new
      return new
    }
  }
}

extension SessionCore.State {
  /// The properties that must be set when the session ends.
  var leftovers: [(ObjectPath, Undoing.Leftover)] {
    var all: [(ObjectPath, Undoing.Leftover)] = []
    for entry in registry.all {
      guard let instance = SessionCore.instance(for: entry.registration, in: self), entry.mayExist(at: instance) else {
        continue
      }
      all += entry.registration.undoing.leftovers.map { (instance.path, $0) }
    }
    return all
  }
}

extension BlueZError {
  /// A Boolean value that indicates whether the object of an operation that ends something is gone already.
  var meansGone: Bool {
    // bluetoothd replies DoesNotExist when it has dropped a registration by itself.
    [.staleHandle, .serviceUnavailable, .noAdapter].contains(code) || underlying?.name == "org.bluez.Error.DoesNotExist"
  }
}
