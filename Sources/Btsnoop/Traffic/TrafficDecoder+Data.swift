/// The data of connections.
extension TrafficDecoder {
  mutating func data(_ record: CaptureRecord) {
    guard let fragment = ACLFragment(record.bytes) else { return emit(record, nil, .malformed("data")) }
    let place = Place(adapter: record.adapter, handle: fragment.handle)
    // The connection is older than the recording.
    if links[place] == nil { start(place, peer: nil, isCentral: nil) }
    let isFromHost = !record.kind.isReceived
    guard links[place]?.isClassic == false,
      let frame = links[place]?.assemblers[isFromHost].add(fragment), let link = links[place]?.link
    else { return }
    switch frame.channel {
    case L2CAPFrame.attributes:
      guard let packet = ATTPacket(frame.payload) else {
        return emit(record, link, .malformed("Attribute Protocol"))
      }
      let result = links[place]?.attributes.handle(packet, isFromHost: isFromHost, at: record.time)
      if let result { report(record, link, result.outcomes, isClientHost: result.isClientHost) }
    case L2CAPFrame.signals: signal(record, place, link, frame.payload, isFromHost)
    case L2CAPFrame.security: security(record, link, frame.payload, isFromHost)
    case L2CAPFrame.firstDynamic...: message(record, place, link, frame, isFromHost)
    default: break
    }
  }

  private mutating func security(
    _ record: CaptureRecord, _ link: Link, _ payload: ArraySlice<UInt8>, _ isFromHost: Bool
  ) {
    guard let packet = SMPPacket(payload) else { return emit(record, link, .malformed("Security Manager")) }
    emit(record, link, .pairing(packet, isFromHost: isFromHost))
    guard !isFromHost, case .identityAddress(let identity) = packet, let peer = link.peer, peer != identity else {
      return
    }
    // What was found under the private address belongs to the device.
    let (old, new) = (key(.device(peer)), AttributeServer.device(identity))
    if let table = tables.removeValue(forKey: old) {
      tables[new] = table
      servers = servers.map { $0 == old ? new : $0 }
    }
    if identities.count >= Self.identityLimit { identities.removeAll() }
    identities[peer] = identity
  }

  // MARK: Attributes

  mutating func report(
    _ record: CaptureRecord, _ link: Link, _ outcomes: [AttributeBearer.Outcome], isClientHost: Bool
  ) {
    guard !outcomes.isEmpty else { return }
    let server = server(link, isClientHost: isClientHost)
    for outcome in outcomes {
      switch outcome {
      case .operation(let kind, let handle, let offset, let value, let outcome, let since):
        let operation = AttributeOperation(
          kind: kind, server: server, handle: handle, offset: offset, value: value, outcome: outcome,
          duration: record.time &- since)
        emit(record, link, .operation(operation))
      case .services(let services):
        for service in services where change(server, { $0.add(service) }) {
          emit(record, link, .foundService(service, server))
        }
      case .characteristics(let characteristics):
        for characteristic in characteristics where change(server, { $0.add(characteristic) }) {
          emit(record, link, .foundCharacteristic(characteristic, server))
        }
      case .descriptors(let descriptors):
        for descriptor in descriptors where change(server, { $0.add(descriptor) }) {
          emit(record, link, .foundDescriptor(descriptor, server))
        }
      case .mtu(let mtu): emit(record, link, .mtu(mtu))
      case .value(let handle, let value, let isIndication):
        emit(record, link, .value(handle: handle, value, isIndication: isIndication, server))
      case .confirmation: emit(record, link, .confirmation(server))
      }
    }
  }

  /// Reports the requests of a connection that had no response.
  mutating func endOperations(_ record: CaptureRecord, _ place: Place) {
    guard var state = links[place] else { return }
    var open = state.attributes.end()
    for index in state.channels.indices { open += state.channels[index].bearer?.end() ?? [] }
    links[place] = state
    for (outcome, isClientHost) in open { report(record, state.link, [outcome], isClientHost: isClientHost) }
  }

  // MARK: Channels

  private mutating func signal(
    _ record: CaptureRecord, _ place: Place, _ link: Link, _ payload: ArraySlice<UInt8>, _ isFromHost: Bool
  ) {
    guard let (identifier, signal) = L2CAPSignal.decode(payload) else {
      return emit(record, link, .malformed("L2CAP signal"))
    }
    switch signal {
    case .timingRequest(let least, let most, _, _):
      emit(record, link, .timingRequested(least: least, most: most, isFromHost: isFromHost))
    case .channelRequest(let request):
      links[place]?.requests[.init(identifier: identifier, isFromHost: isFromHost)] = request
    case .channelResponse(let response):
      let key = LinkState.Request(identifier: identifier, isFromHost: !isFromHost)
      guard let request = links[place]?.requests.removeValue(forKey: key) else { return }
      open(record, place, link, request, response, isFromHost: !isFromHost)
    case .rejected(let reason):
      let key = LinkState.Request(identifier: identifier, isFromHost: !isFromHost)
      guard let request = links[place]?.requests.removeValue(forKey: key) else { return }
      emit(record, link, .channelRefused(psm: request.psm, result: reason, isFromHost: !isFromHost))
    case .disconnectRequest(let destination, let source):
      let (host, peer) = isFromHost ? (source, destination) : (destination, source)
      guard
        let index = links[place]?.channels.firstIndex(where: {
          $0.channel.hostChannel == host && $0.channel.peerChannel == peer
        }), let closed = links[place]?.channels.remove(at: index)
      else { return }
      emit(record, link, .channelClosed(closed.channel, isFromHost: isFromHost))
    case .timingResponse, .credits, .disconnectResponse, .other: break
    }
  }

  private mutating func open(
    _ record: CaptureRecord, _ place: Place, _ link: Link, _ request: L2CAPSignal.ChannelRequest,
    _ response: L2CAPSignal.ChannelResponse, isFromHost: Bool
  ) {
    let opened = zip(request.channels, response.channels).filter { $0.1 != 0 }
    guard !opened.isEmpty, response.result == 0 || request.channels.count > 1 else {
      return emit(
        record, link, .channelRefused(psm: request.psm, result: response.result, isFromHost: isFromHost))
    }
    for (source, destination) in opened {
      let channel = TrafficChannel(
        psm: request.psm, hostChannel: isFromHost ? source : destination,
        peerChannel: isFromHost ? destination : source, hostMTU: isFromHost ? request.mtu : response.mtu,
        peerMTU: isFromHost ? response.mtu : request.mtu)
      links[place]?.channels.removeAll {
        $0.channel.hostChannel == channel.hostChannel || $0.channel.peerChannel == channel.peerChannel
      }
      links[place]?.channels.append(
        .init(
          channel: channel, bearer: channel.psm == TrafficChannel.enhancedAttributes ? AttributeBearer() : nil))
      if let count = links[place]?.channels.count, count > LinkState.channelLimit {
        links[place]?.channels.removeFirst()
      }
      emit(record, link, .channelOpened(channel, isFromHost: isFromHost))
    }
  }

  private mutating func message(
    _ record: CaptureRecord, _ place: Place, _ link: Link, _ frame: L2CAPFrame, _ isFromHost: Bool
  ) {
    guard
      let index = links[place]?.channels.firstIndex(where: {
        (isFromHost ? $0.channel.peerChannel : $0.channel.hostChannel) == frame.channel
      })
    else { return }
    let message = links[place]?.channels[index].assemblers[isFromHost].add(frame.payload)
    links[place]?.limitWaiting()
    guard let message, let channel = links[place]?.channels[index].channel else { return }
    guard channel.psm == TrafficChannel.enhancedAttributes else {
      return emit(record, link, .channelData(channel, message, isFromHost: isFromHost))
    }
    guard let packet = ATTPacket(message[...]) else { return emit(record, link, .malformed("Attribute Protocol")) }
    let result = links[place]?.channels[index].bearer?.handle(packet, isFromHost: isFromHost, at: record.time)
    if let result { report(record, link, result.outcomes, isClientHost: result.isClientHost) }
  }
}
