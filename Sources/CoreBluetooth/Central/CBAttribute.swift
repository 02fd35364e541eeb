/// A service, a characteristic or a descriptor.
open class CBAttribute: NSObject, @unchecked Sendable {
  // Sound: the only stored property never changes. Those of the classes below are each behind a lock, because an app
  // may read them on another queue than that of its manager.

  /// The UUID of the attribute's type.
  public let uuid: CBUUID

  init(uuid: CBUUID) {
    self.uuid = uuid
  }
}
