/// A device that behaves as a recorded one did: the state machine without radio and clock.
///
/// ```swift
/// var replay = DeviceReplay(device)
/// let answer = replay.read(12)
/// print(answer.error?.description ?? "\(answer.value)")
/// ```
///
/// Reads of an attribute get its recorded answers in order, and then the last one again. A subscription or a write gets
/// the reaction to the next equal one in the recording, and after the last one the first again. What the recording does
/// not show is refused: reads as *read not permitted* or, of a readable attribute, as *unlikely error*; writes as *write
/// not permitted* or, of another value than the recorded ones, as *value not allowed*.
public struct DeviceReplay: Sendable {
  /// The recorded device that is replayed.
  public let device: RecordedDevice
  /// The number of answers that were given for each handle.
  private var given: [UInt16: Int] = [:]
  /// The next reaction of the recording.
  private var place = 0

  /// Creates a replay at the beginning of the recording.
  public init(_ device: RecordedDevice) { self.device = device }

  /// Answers a read as the device did.
  /// - Parameter handle: The handle of the attribute.
  public mutating func read(_ handle: UInt16) -> RecordedDevice.Answer {
    guard let answers = device.answers[handle], !answers.isEmpty else {
      return .init([], error: allows(handle, 0x02) ? .unlikely : .readNotPermitted)
    }
    let number = given[handle, default: 0]
    given[handle] = number + 1
    return answers[min(number, answers.count - 1)]
  }

  /// Answers a write as the device did.
  /// - Returns: The reason of a refusal, and what the device then sends.
  public mutating func write(_ handle: UInt16, _ value: [UInt8]) -> RecordedDevice.Reaction {
    if let reaction = next({ $0 == .write(handle: handle, value) }) { return reaction }
    let cause = RecordedDevice.Cause.write(handle: handle, value)
    return .init(cause, error: allows(handle, 0x0c) ? .valueNotAllowed : .writeNotPermitted)
  }

  /// Answers a subscription as the device did.
  /// - Parameter handle: The handle of the characteristic's value.
  /// - Returns: The reason of a refusal, and what the device then sends: nothing, where the recording has no subscription
  ///   to it.
  public mutating func subscribe(_ handle: UInt16) -> RecordedDevice.Reaction {
    if let reaction = next({ $0 == .subscription(handle: handle) }) { return reaction }
    let cause = RecordedDevice.Cause.subscription(handle: handle)
    guard allows(handle, 0x30) else { return .init(cause, error: .writeNotPermitted) }
    // The subscription was made before the recording, which begins with the values.
    let earlier = device.reactions.first { $0.cause == .connection }?.sent.filter { $0.handle == handle } ?? []
    return .init(cause, sent: earlier)
  }

  private mutating func next(_ matches: (RecordedDevice.Cause) -> Bool) -> RecordedDevice.Reaction? {
    let found =
      device.reactions[place...].firstIndex { matches($0.cause) } ?? device.reactions.firstIndex { matches($0.cause) }
    guard let found else { return nil }
    place = found + 1
    return device.reactions[found]
  }

  /// Returns `true` if the declaration of a characteristic permits an operation; descriptors permit all.
  private func allows(_ handle: UInt16, _ bits: UInt8) -> Bool {
    device.table.characteristic(at: handle).map { $0.properties & bits != 0 }
      ?? (device.table.descriptor(at: handle) != nil)
  }
}

extension ATTError {
  /// Something that the specification does not name.
  public static let unlikely = ATTError(rawValue: 0x0e)
  /// The server does not accept this value.
  public static let valueNotAllowed = ATTError(rawValue: 0x13)
}
