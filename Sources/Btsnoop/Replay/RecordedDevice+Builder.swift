extension RecordedDevice {
  /// Makes a ``RecordedDevice`` from the records of a file.
  public struct Builder: Sendable {
    /// A cause with the instant of its request, and what was sent before the next one.
    private struct Step: Sendable {
      var reaction: Reaction
      var time: Int64
    }

    private var made: RecordedDevice
    private var decoder = TrafficDecoder()
    private var steps: [Step] = []
    private var sent: [(time: Int64, value: Sent)] = []
    /// The parts of long writes by their handles.
    private var prepared: [UInt16: [UInt8]] = [:]
    /// The refusals for want of a key that wait for a success.
    private var refused: [UInt16: Int] = [:]
    private var isSeen = false

    /// The limits of what is kept of a recording: more of it is left out.
    private static let answerLimit = 1000
    private static let sentLimit = 100_000
    private static let stepLimit = 10_000

    /// Creates a builder for a device; its address may be the private one or the identity.
    public init(_ address: DeviceAddress) { made = RecordedDevice(address: address) }

    /// Adds the next record of the recording.
    public mutating func add(_ record: CaptureRecord) {
      for event in decoder.handle(record) where concerns(event) { add(event) }
    }

    /// The device as the records up to now show it; `nil` when it is not in them.
    public var device: RecordedDevice? {
      guard isSeen else { return nil }
      var device = made
      device.table = decoder.table(of: .device(decoder.identity(of: made.address)))
      device.reactions = assigned(device.table)
      return device
    }

    private func concerns(_ event: TrafficEvent) -> Bool {
      if case .advertisement(let report) = event.kind { return isDevice(report.address) }
      return event.link?.peer.map(isDevice) ?? false
    }

    private func isDevice(_ address: DeviceAddress) -> Bool {
      address.matches(made.address) || decoder.identity(of: address) == decoder.identity(of: made.address)
    }

    // MARK: Events

    private mutating func add(_ event: TrafficEvent) {
      isSeen = true
      switch event.kind {
      case .advertisement(let report):
        identify(report.address)
        add(report)
      case .connected:
        if let peer = event.link?.peer { identify(peer) }
        step(.connection, at: event.time)
        prepared = [:]
      case .mtu(let mtu): made.mtu = mtu
      case .value(let handle, let value, let isIndication, .device):
        guard sent.count < Self.sentLimit else { return }
        sent.append((event.time, Sent(handle: handle, value: value, isIndication: isIndication)))
      case .operation(let operation):
        guard case .device = operation.server else { return }
        add(operation, at: event.time)
      default: break
      }
    }

    /// Takes over the kind of the device's address, which its text does not contain.
    private mutating func identify(_ address: DeviceAddress) {
      if address.matches(made.address) { made.address = address.asOnAir }
    }

    private mutating func add(_ report: AdvertisingReport) {
      if !report.isScanResponse { made.isConnectable = report.isConnectable }
      made.rssi = report.rssi ?? made.rssi
      // The newest element of each type; several of one type come from one packet.
      let types = Set(report.data.elements.map(\.type))
      made.advertisement.elements.removeAll { types.contains($0.type) }
      made.advertisement.elements += report.data.elements
    }

    private mutating func add(_ operation: AttributeOperation, at time: Int64) {
      let start = time &- operation.duration
      let error: ATTError? = if case .refused(let reason) = operation.outcome { reason } else { nil }
      guard operation.outcome != .unanswered else { return }
      switch operation.kind {
      case .read, .readByType: answer(operation.handle, Answer(operation.value, error: error))
      case .readBlob: extend(operation, error)
      case .prepareWrite:
        prepared[operation.handle, default: []] += operation.value
      case .executeWrite:
        for (handle, value) in prepared.sorted(by: { $0.key < $1.key }) where operation.value == [1] {
          step(.write(handle: handle, value), error: error, at: start)
        }
        prepared = [:]
      case .write, .writeCommand, .signedWrite: write(operation, error, at: start)
      }
    }

    private mutating func answer(_ handle: UInt16, _ answer: Answer) {
      if let error = answer.error, error.asksForKey { refused[handle, default: 0] += 1 }
      if answer.error == nil, let count = refused.removeValue(forKey: handle) {
        // It was a matter of encryption, and bluetoothd asked again by itself.
        made.protected.insert(handle)
        made.answers[handle] = made.answers[handle]?.dropLast(count)
      }
      guard made.answers[handle, default: []].count < Self.answerLimit else { return }
      made.answers[handle, default: []].append(answer)
    }

    /// Adds the rest of a long value to its beginning.
    private mutating func extend(_ operation: AttributeOperation, _ error: ATTError?) {
      guard error == nil, let last = made.answers[operation.handle]?.indices.last,
        made.answers[operation.handle]?[last].value.count == operation.offset
      else { return }
      made.answers[operation.handle]?[last].value += operation.value
    }

    private mutating func write(_ operation: AttributeOperation, _ error: ATTError?, at time: Int64) {
      let table = decoder.table(of: operation.server)
      if error?.asksForKey == true { refused[operation.handle, default: 0] += 1 }
      if error == nil, refused.removeValue(forKey: operation.handle) != nil {
        made.protected.insert(operation.handle)
        steps.removeAll { step in
          guard step.reaction.error?.asksForKey == true else { return false }
          return switch step.reaction.cause {
          case .connection: false
          case .subscription(let handle): table.characteristic(around: operation.handle)?.valueHandle == handle
          case .write(let handle, _): handle == operation.handle
          }
        }
      }
      guard let subscribed = table.subscribed(by: operation.handle, operation.value) else {
        return step(.write(handle: operation.handle, operation.value), error: error, at: time)
      }
      guard operation.value.first.map({ $0 & 3 != 0 }) == true else { return }
      step(.subscription(handle: subscribed), error: error, at: time)
    }

    private mutating func step(_ cause: Cause, error: ATTError? = nil, at time: Int64) {
      guard steps.count < Self.stepLimit else { return }
      steps.append(Step(reaction: Reaction(cause, error: error), time: time))
    }

    // MARK: Causes

    /// Gives each value to its cause.
    private func assigned(_ table: AttributeTable) -> [Reaction] {
      var reactions = steps.map(\.reaction)
      var streams: Set<UInt16> = []
      follow(table) { value, _, causes in
        if causes.isStream(value.handle) { streams.insert(value.handle) }
      }
      follow(table) { value, time, causes in
        guard let cause = causes.cause(of: value.handle, isStream: streams.contains(value.handle)) else { return }
        var timed = value
        timed.delay = max(time &- steps[cause].time, 0)
        reactions[cause].sent.append(timed)
      }
      return reactions
    }

    /// Goes through the values with the possible causes of each.
    private func follow(_ table: AttributeTable, _ body: (Sent, Int64, RecordedCauses) -> Void) {
      var causes = RecordedCauses(table)
      var place = 0
      for (time, value) in sent {
        while place < steps.count, steps[place].time <= time {
          causes.add(steps[place].reaction.cause, at: place)
          place += 1
        }
        body(value, time, causes)
      }
    }
  }
}

extension ATTError {
  /// A Boolean value that indicates whether the refusal is for want of a key, so that bluetoothd pairs and asks again:
  /// insufficient authentication, authorization, key size or encryption.
  fileprivate var asksForKey: Bool { [0x05, 0x0c, 0x0f].contains(rawValue) }
}

extension AttributeTable {
  /// Returns the handle of the value to which a write of a client configuration subscribes.
  func subscribed(by handle: UInt16, _ value: [UInt8]) -> UInt16? {
    guard value.count == 2, characteristic(at: handle) == nil, let found = characteristic(around: handle) else {
      return nil
    }
    // Where the client has cached the attributes, the descriptor is not in the recording; it comes after the value.
    if let descriptor = descriptor(at: handle), descriptor.uuid != .clientConfiguration { return nil }
    return found.valueHandle
  }
}
