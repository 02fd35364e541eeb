import DBus

/// The place of a registration in bluetoothd, and the call that removes it.
struct Placement: Sendable {
  /// The interface that the registration was made with.
  let manager: String
  /// The method that unregisters.
  let member: String
  /// The registered object, which is the method's argument.
  let object: ObjectPath
  /// The description for logs and errors.
  let title: String
}

/// Unregisters what was declared.
extension SessionCore {
  /// Removes a registration from the registry and from bluetoothd. Where bluetoothd, the adapter or the registration is
  /// gone there is nothing to unregister, which is no failure.
  /// - Parameter id: Its identifier; `nil` when it was removed before.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  func takeDown(_ id: Int?, _ placement: Placement) async throws {
    guard let path = id.flatMap(unregister) else { return }
    do {
      try await call(
        path, placement.manager, placement.member, [.objectPath(placement.object)],
        doing: "unregistering \(placement.title)")
    } catch let error as BlueZError where error.meansGone {
      logger.debug("\(placement.title) was gone already", metadata: ["error": "\(error)"])
    }
  }

  /// Does the same for a handle without owner; a failure is logged, because no caller waits.
  func takeDownQuietly(_ id: Int?, _ placement: Placement) async {
    do {
      try await takeDown(id, placement)
    } catch {
      logger.info("\(placement.title) was not unregistered", metadata: ["error": "\(error)"])
    }
  }
}

extension BlueZError {
  /// A Boolean value that indicates whether the object of an operation that ends something is gone already.
  var meansGone: Bool {
    // bluetoothd replies DoesNotExist when it has dropped a registration by itself.
    [.staleHandle, .serviceUnavailable, .noAdapter].contains(code) || underlying?.name == "org.bluez.Error.DoesNotExist"
  }
}
