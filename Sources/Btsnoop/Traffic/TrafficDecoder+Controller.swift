/// The commands to controllers and their events.
extension TrafficDecoder {
  mutating func command(_ record: CaptureRecord) {
    guard let command = HCICommand(record.bytes) else { return emit(record, nil, .malformed("command")) }
    if let (isScanResponse, data) = command.advertisingData {
      emit(record, nil, .advertising(isScanResponse: isScanResponse, data))
    }
    guard [HCICommand.Opcode.createConnection, HCICommand.Opcode.createExtendedConnection].contains(command.opcode),
      let device = command.device
    else { return }
    // With the list of accepted devices the address is empty.
    guard device.octets.contains(where: { $0 != 0 }) else { return }
    connecting[record.adapter] = device
    emit(record, nil, .connecting(device))
  }

  mutating func event(_ record: CaptureRecord) {
    guard let event = HCIEvent(record.bytes) else { return emit(record, nil, .malformed("event")) }
    switch event {
    case .connected(let connection): connected(record, connection)
    case .connectedClassic(.success, let handle):
      let place = Place(adapter: record.adapter, handle: handle)
      start(place, peer: nil, isCentral: nil)
      links[place]?.isClassic = true
    case .connectedClassic: break
    case .disconnected(.success, let handle, let reason):
      let place = Place(adapter: record.adapter, handle: handle)
      endOperations(record, place)
      guard let state = links.removeValue(forKey: place) else { return }
      if !state.isClassic { emit(record, state.link, .disconnected(reason)) }
    case .disconnected: break
    case .timingChanged(let status, let handle, let timing): emit(record, handle, .timingChanged(status, timing))
    case .encryptionChanged(let status, let handle, let isEncrypted):
      emit(record, handle, .encryption(status, isEncrypted: isEncrypted))
    case .keyRefreshed(let status, let handle): emit(record, handle, .encryption(status, isEncrypted: true))
    case .phyChanged(.success, let handle, let transmit, let receive):
      emit(record, handle, .phyChanged(transmit: transmit, receive: receive))
    case .phyChanged: break
    case .dataLengthChanged(let handle, let transmit, let receive):
      emit(record, handle, .dataLengthChanged(transmit: Int(transmit), receive: Int(receive)))
    case .advertisements(let reports):
      for report in reports { emit(record, nil, .advertisement(report)) }
    case .commandCompleted(HCICommand.Opcode.readRSSI, let parameters):
      var fields = ByteReader(parameters)
      guard fields.byte() == 0, let handle = fields.uint16(), let rssi = fields.signed(), rssi != 127 else { return }
      emit(record, handle & 0xfff, .rssi(Int(rssi)))
    case .commandCompleted, .commandStatus, .other: break
    }
  }

  /// Adds an event of an LE connection.
  private mutating func emit(_ record: CaptureRecord, _ handle: UInt16, _ kind: TrafficEvent.Kind) {
    let state = links[Place(adapter: record.adapter, handle: handle)]
    guard state?.isClassic != true else { return }
    emit(record, state?.link, kind)
  }

  private mutating func connected(_ record: CaptureRecord, _ connection: HCIEvent.Connection) {
    let wanted = connecting.removeValue(forKey: record.adapter)
    guard connection.status == .success else {
      // A failed connection has no address for some controllers.
      let device = connection.peer.octets.allSatisfy { $0 == 0 } ? wanted : connection.peer
      return emit(record, nil, .connectFailed(device ?? connection.peer, connection.status))
    }
    let place = Place(adapter: record.adapter, handle: connection.handle)
    start(place, peer: connection.peer, isCentral: connection.isCentral)
    emit(record, links[place]?.link, .connected(connection))
  }

  mutating func start(_ place: Place, peer: DeviceAddress?, isCentral: Bool?) {
    lastNumber += 1
    links[place] = LinkState(
      Link(number: lastNumber, adapter: place.adapter, handle: place.handle, peer: peer, isCentral: isCentral))
    guard links.count > Self.linkLimit, let oldest = links.min(by: { $0.value.link.number < $1.value.link.number })
    else { return }
    links[oldest.key] = nil
  }
}
