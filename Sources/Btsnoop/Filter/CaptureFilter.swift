/// Leaves out of a recording what must not be in it: other devices, keys, and the content of values.
///
/// ```swift
/// var filter = CaptureFilter(.init(device: DeviceAddress("00:AA:01:00:00:42")))
/// if let kept = filter.handle(record) { print(kept.bytes) }
/// ```
///
/// Removed bytes are replaced with zeros, so that the packets keep their lengths and every program reads them.
public struct CaptureFilter: Sendable {
  /// The choices of what is left out.
  public struct Options: Sendable, Hashable {
    /// The device to which the recording is restricted; `nil` for all devices. A connection that was made before the
    /// recording is not recognized.
    public var device: DeviceAddress?
    /// The number N of the adapter `hciN` to which the recording is restricted; `nil` for all adapters.
    public var adapter: UInt16?
    /// A Boolean value that indicates whether keys and the secrets of pairing stay. Also the traffic of the management
    /// interface and the logs of programs stay then, which contain keys.
    public var keepsKeys: Bool
    /// A Boolean value that indicates whether the content of values is removed: of attributes, of channels, and of
    /// advertisements names and data.
    public var masksPayloads: Bool

    /// Creates options; without arguments all devices stay, and keys are removed.
    public init(
      device: DeviceAddress? = nil, adapter: UInt16? = nil, keepsKeys: Bool = false, masksPayloads: Bool = false
    ) {
      self.device = device
      self.adapter = adapter
      self.keepsKeys = keepsKeys
      self.masksPayloads = masksPayloads
    }
  }

  /// The choices of what is left out.
  public let options: Options
  /// The connections of the device, by adapter and handle.
  private var wanted: Set<TrafficDecoder.Place> = []
  private var masks: [DataMask.Direction: DataMask] = [:]
  /// The handles that are known as client configurations, which say nothing private.
  private var configurations: [TrafficDecoder.Place: Set<UInt16>] = [:]

  private static let directionLimit = 2048

  /// Creates a filter at the beginning of a recording.
  public init(_ options: Options = Options()) { self.options = options }

  /// Handles the next record of a recording.
  /// - Returns: The record without what is left out; `nil` if nothing stays.
  public mutating func handle(_ record: CaptureRecord) -> CaptureRecord? {
    if let adapter = options.adapter, record.adapter != adapter, record.adapter != CaptureRecord.noAdapter {
      return nil
    }
    if !options.keepsKeys, Self.mayHaveKeys(record.kind) { return nil }
    var record = record
    switch record.kind {
    case .command: guard keepsCommand(&record) else { return nil }
    case .event: guard keepsEvent(&record) else { return nil }
    case .sentData, .receivedData: guard keepsData(&record) else { return nil }
    case .sentVoice, .receivedVoice, .sentStream, .receivedStream:
      if options.device != nil { return nil }
      if options.masksPayloads { record.zero(4...) }
    case .deletedIndex, .closedIndex: forget { $0.adapter == record.adapter }
    default: break
    }
    return record
  }

  /// The notices that no radio carries: they contain the keys that bluetoothd loads, and any text.
  private static func mayHaveKeys(_ kind: CaptureRecord.Kind) -> Bool {
    switch kind {
    case .controlCommand, .controlEvent, .openedControl, .closedControl, .userLog, .vendorDiagnostic: true
    default: kind.rawValue > CaptureRecord.Kind.receivedStream.rawValue
    }
  }

  private mutating func forget(_ isGone: (TrafficDecoder.Place) -> Bool) {
    wanted = wanted.filter { !isGone($0) }
    masks = masks.filter { !isGone($0.key.place) }
    configurations = configurations.filter { !isGone($0.key) }
  }

  // MARK: Commands and events

  private mutating func keepsCommand(_ record: inout CaptureRecord) -> Bool {
    guard let command = HCICommand(record.bytes) else { return options.device == nil && options.keepsKeys }
    if let device = options.device {
      switch command.subject {
      case .adapter: break
      case .device(let address): guard address.matches(device) else { return false }
      case .link(let handle): guard isWanted(record, handle) else { return false }
      case .other: return false
      }
    }
    // Opcode and length come before the parameters.
    if !options.keepsKeys, let range = KeyLocations.commands[command.opcode] {
      record.zero((range.lowerBound + 3)..<(range.upperBound + 3))
    }
    if options.masksPayloads, let start = command.advertisingDataStart { record.zeroAdvertisingData(from: start + 3) }
    return true
  }

  private mutating func keepsEvent(_ record: inout CaptureRecord) -> Bool {
    guard let event = HCIEvent(record.bytes) else { return options.device == nil && options.keepsKeys }
    follow(record, event)
    if options.device != nil, !concerns(&record, event) { return false }
    if case .disconnected(_, let handle, _) = event {
      let place = TrafficDecoder.Place(adapter: record.adapter, handle: handle)
      forget { $0 == place }
    }
    if !options.keepsKeys {
      for range in KeyLocations.inEvent(event) { record.zero(range) }
    }
    if options.masksPayloads { record.maskEvent() }
    return true
  }

  private mutating func follow(_ record: CaptureRecord, _ event: HCIEvent) {
    guard case .connected(let connection) = event, connection.status == .success else { return }
    let place = TrafficDecoder.Place(adapter: record.adapter, handle: connection.handle)
    forget { $0 == place }
    guard let device = options.device else { return }
    if connection.peer.matches(device) || connection.peerPrivateAddress?.matches(device) == true {
      wanted.insert(place)
    }
  }

  /// Returns `true` for an event of the device or of the adapter as a whole. Reports of other devices are removed.
  private func concerns(_ record: inout CaptureRecord, _ event: HCIEvent) -> Bool {
    guard let device = options.device else { return true }
    switch event {
    case .connected(let connection):
      if connection.status == .success { return isWanted(record, connection.handle) }
      return connection.peer.matches(device)
    case .disconnected(_, let handle, _), .timingChanged(_, let handle, _), .encryptionChanged(_, let handle, _),
      .keyRefreshed(_, let handle), .phyChanged(_, let handle, _, _), .dataLengthChanged(let handle, _, _):
      return isWanted(record, handle)
    case .advertisements: return record.keepReports { $0.matches(device) }
    case .commandCompleted(HCICommand.Opcode.readRSSI, let parameters):
      var fields = ByteReader(parameters.dropFirst())
      return fields.uint16().map { isWanted(record, $0 & 0xfff) } ?? false
    case .commandCompleted(let opcode, _), .commandStatus(_, let opcode): return HCICommand.isOfAdapter(opcode)
    case .other(let code, let parameters):
      guard let offset = HCIEvent.handleOffset(code, parameters) else { return code == 0x10 || code == 0x13 }
      var fields = ByteReader(parameters.dropFirst(offset))
      return fields.uint16().map { isWanted(record, $0 & 0xfff) } ?? false
    case .connectedClassic: return false
    }
  }

  private func isWanted(_ record: CaptureRecord, _ handle: UInt16) -> Bool {
    wanted.contains(.init(adapter: record.adapter, handle: handle))
  }

  // MARK: Data

  private mutating func keepsData(_ record: inout CaptureRecord) -> Bool {
    guard let fragment = ACLFragment(record.bytes) else { return options.device == nil && options.keepsKeys }
    if options.device != nil, !isWanted(record, fragment.handle) { return false }
    guard !options.keepsKeys || options.masksPayloads else { return true }
    let place = TrafficDecoder.Place(adapter: record.adapter, handle: fragment.handle)
    let direction = DataMask.Direction(place: place, isFromHost: !record.kind.isReceived)
    if masks.count >= Self.directionLimit { masks.removeAll() }
    if options.masksPayloads { learn(place, fragment) }
    let opposite = DataMask.Direction(place: place, isFromHost: record.kind.isReceived)
    let context = DataMask.Context(
      keepsKeys: options.keepsKeys, masksPayloads: options.masksPayloads,
      isDeclaration: masks[opposite]?.asksForDeclarations == true, configurations: configurations[place] ?? [])
    let ranges = masks[direction, default: DataMask()].add(fragment, context)
    for range in ranges {
      record.zero((range.lowerBound + ACLFragment.headerLength)..<(range.upperBound + ACLFragment.headerLength))
    }
    return true
  }

  /// Learns the client configurations from a discovery of descriptors in one piece.
  private mutating func learn(_ place: TrafficDecoder.Place, _ fragment: ACLFragment) {
    guard !fragment.isContinuation, fragment.bytes.count > L2CAPFrame.headerLength else { return }
    let start = fragment.bytes.startIndex
    guard fragment.bytes[start + 2] == 4, fragment.bytes[start + 3] == 0, fragment.bytes[start + 4] == 0x05,
      case .informationResponse(let found)? = ATTPacket(fragment.bytes[(start + L2CAPFrame.headerLength)...])
    else { return }
    for attribute in found where attribute.type == .clientConfiguration {
      configurations[place, default: []].insert(attribute.handle)
    }
  }
}
