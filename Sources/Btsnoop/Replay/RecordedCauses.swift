/// The steps of a client to which a value of the device may be the reaction, as far as the recording was followed.
struct RecordedCauses {
  private let table: AttributeTable
  private var connection: Int?
  private var subscriptions: [UInt16: Int] = [:]
  /// The last writes, by the service of the attribute; the key `nil` has those to attributes of no known service.
  private var writes: [UInt16?: Int] = [:]

  init(_ table: AttributeTable) { self.table = table }

  mutating func add(_ cause: RecordedDevice.Cause, at place: Int) {
    switch cause {
    case .connection:
      self = RecordedCauses(table)
      connection = place
    case .subscription(let handle): subscriptions[handle] = place
    case .write(let handle, _): writes[service(of: handle)] = place
    }
  }

  /// Returns `true` if a value that comes now comes by itself: after a subscription, and before anything was written to
  /// the service.
  func isStream(_ handle: UInt16) -> Bool {
    guard let subscription = subscriptions[handle] else { return false }
    return lastWrite(near: handle).map { $0 < subscription } ?? true
  }

  /// Returns the place of the cause of a value that comes now.
  func cause(of handle: UInt16, isStream: Bool) -> Int? {
    let subscription = subscriptions[handle]
    if isStream, let subscription { return subscription }
    return [subscription, lastWrite(near: handle)].compactMap(\.self).max() ?? connection
  }

  /// Returns the last write to the service of an attribute; to any service, where that is not known.
  private func lastWrite(near handle: UInt16) -> Int? {
    guard let service = service(of: handle) else { return writes.values.max() }
    return [writes[service], writes[nil]].compactMap(\.self).max()
  }

  private func service(of handle: UInt16) -> UInt16? { table.service(around: handle)?.handle }
}
