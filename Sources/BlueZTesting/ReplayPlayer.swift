import Btsnoop
import DBus
import Streams
import Timing

/// Performs what a recorded device does: answers, and values at their times.
actor ReplayPlayer {
  /// The ways to send a value, by its handle.
  nonisolated let senders = Lock<[UInt16: @Sendable ([UInt8]) -> Void]>([:])
  private var replay: DeviceReplay
  private let pace: Double
  /// The last answers, for the rest of long values.
  private var answers: [UInt16: RecordedDevice.Answer] = [:]
  private var subscribed: Set<UInt16> = []
  private var reactions: [Int: Task<Void, Never>] = [:]
  private var nextReaction = 0
  /// The requests that the recording does not have.
  private(set) var unrecorded: [String] = []

  private static let unrecordedLimit = 1000

  init(_ device: RecordedDevice, pace: Double) {
    replay = DeviceReplay(device)
    self.pace = pace
  }

  func read(_ handle: UInt16, from offset: Int) throws -> [UInt8] {
    if offset == 0 {
      if replay.device.answers[handle]?.isEmpty ?? true { note("read of handle \(handle)") }
      answers[handle] = replay.read(handle)
    }
    guard let answer = answers[handle] else { throw DBusError.replayed(ATTError(rawValue: 0x07)) }
    if let error = answer.error { throw DBusError.replayed(error) }
    guard offset <= answer.value.count else { throw DBusError.replayed(ATTError(rawValue: 0x07)) }
    return Array(answer.value.dropFirst(offset))
  }

  func write(_ handle: UInt16, _ value: [UInt8], at offset: Int) throws {
    guard offset == 0 else { throw DBusError.replayed(ATTError(rawValue: 0x07)) }
    let reaction = replay.write(handle, value)
    if reaction.error != nil, !replay.device.reactions.contains(where: { $0.cause == reaction.cause }) {
      note("write of \(value.count) bytes to handle \(handle)")
    }
    try perform(reaction)
  }

  func subscribe(_ handle: UInt16) throws {
    let reaction = replay.subscribe(handle)
    subscribed.insert(handle)
    do {
      try perform(reaction)
    } catch {
      subscribed.remove(handle)
      throw error
    }
  }

  func unsubscribe(_ handle: UInt16) {
    subscribed.remove(handle)
    // What a device was about to send goes with its last subscriber.
    if subscribed.isEmpty { stop() }
  }

  func stop() {
    for task in reactions.values { task.cancel() }
    reactions = [:]
  }

  private func note(_ request: String) {
    if unrecorded.count < Self.unrecordedLimit { unrecorded.append(request) }
  }

  private func perform(_ reaction: RecordedDevice.Reaction) throws {
    if let error = reaction.error { throw DBusError.replayed(error) }
    guard !reaction.sent.isEmpty else { return }
    nextReaction += 1
    let (number, begin) = (nextReaction, ContinuousClock.now)
    reactions[number] = Task { [pace] in
      var sent = 0
      for value in reaction.sent {
        if pace > 0 {
          let due = begin.advanced(by: .microseconds(Int64(Double(value.delay) * pace)))
          do { try await Task.sleep(until: due, clock: .steady) } catch { return }
        }
        send(value)
        sent += 1
        // The socket of a subscriber holds a few hundred values, and bluetoothd drops what does not fit.
        if pace == 0, sent % 64 == 0 { try? await Task.sleep(for: .milliseconds(1), clock: .steady) }
      }
      reactions[number] = nil
    }
  }

  private func send(_ value: RecordedDevice.Sent) {
    guard subscribed.contains(value.handle), !Task.isCancelled else { return }
    senders.withLock { $0[value.handle] }?(value.value)
  }
}
