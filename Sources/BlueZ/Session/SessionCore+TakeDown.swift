import DBus

/// Where bluetoothd has what a handle stands for, and how it is taken down.
struct Placement: Sendable {
  /// The interface it is registered with.
  let manager: String
  /// The call that ends it.
  let member: String
  /// Its object, which the call names.
  let object: ObjectPath
  /// What it is, for logs and errors.
  let title: String
}

/// Ends what was declared.
extension SessionCore {
  /// Gives a registration up and takes it down. Where bluetoothd, the adapter or the registration is gone there is
  /// nothing to take down, and that is no failure.
  /// - Parameter id: its number; `nil` when it was given up before.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  func takeDown(_ id: Int?, _ placement: Placement) async throws {
    guard let path = id.flatMap(unregister) else { return }
    do {
      try await call(
        path, placement.manager, placement.member, [.objectPath(placement.object)], doing: "ending \(placement.title)")
    } catch let error as BlueZError where error.meansGone {
      logger.debug("\(placement.title) was gone already", metadata: ["error": "\(error)"])
    }
  }

  /// The same for a handle that nobody holds any more, so that nobody waits for it.
  func takeDownQuietly(_ id: Int?, _ placement: Placement) async {
    do {
      try await takeDown(id, placement)
    } catch {
      logger.info("\(placement.title) was not taken down", metadata: ["error": "\(error)"])
    }
  }
}

extension BlueZError {
  /// Whether what was to be ended is gone already.
  var meansGone: Bool {
    // bluetoothd answers DoesNotExist when it has dropped a registration by itself.
    [.staleHandle, .serviceUnavailable, .noAdapter].contains(code) || underlying?.name == "org.bluez.Error.DoesNotExist"
  }
}
