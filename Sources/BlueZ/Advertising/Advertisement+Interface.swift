import DBus

/// The advertisement as bluetoothd reads it: `org.bluez.LEAdvertisement1`.
extension AdvertisementPlan {
  /// - Parameters:
  ///   - remaining: The time until the advertisement ends.
  ///   - content: Returns the value of a property of the content, which may change; `nil` for one that is absent.
  ///   - chosen: Receives the transmit power that the controller chose, in dBm.
  func interface(
    remaining: Duration?, content element: @escaping @Sendable (String) -> Value?,
    chosen: @escaping @Sendable (Int) -> Void, released: @escaping @Sendable () -> Void
  ) -> Interface {
    var properties: [String: Value] = ["Type": content.isConnectable ? "peripheral" : "broadcast"]
    if let interval = parameters.interval {
      properties["MinInterval"] = .uint32(UInt32(interval.lowerBound / .milliseconds(1)))
      properties["MaxInterval"] = .uint32(UInt32(interval.upperBound / .milliseconds(1)))
    }
    properties["SecondaryChannel"] = parameters.secondaryChannel.map { .string($0.rawValue) }
    properties["Duration"] = parameters.turn.map(Self.seconds)
    properties["Timeout"] = remaining.map(Self.seconds)
    properties["DiscoverableTimeout"] = parameters.discoverableTimeout.map(Self.seconds)
    var declared = properties.map { Interface.Property($0.key, $0.value) }
    declared += Self.contentTypes.map { name, type in Interface.Property(name, type, get: { element(name) }) }
    if let txPower = parameters.txPower {
      let power = Value.int16(Int16(txPower))
      // bluetoothd writes the value that the controller chose.
      declared.append(
        Interface.Property(
          "TxPower", "n", get: { power }, set: { value in if let power = value.integer(as: Int.self) { chosen(power) } }
        ))
    }
    let release = Interface.Method("Release") { _ in
      released()
      return []
    }
    return Interface(Advertisement.interface, methods: [release], properties: declared)
  }

  /// The properties of the content, of which any may be absent.
  private static let contentTypes: [String: Signature] = {
    let elements: [String: Signature] = [
      "ServiceUUIDs": "as", "SolicitUUIDs": "as", "ManufacturerData": "a{qv}", "ServiceData": "a{sv}", "Data": "a{yv}",
    ]
    let responses = elements.map { ("ScanResponse" + $0.key, $0.value) }
    let others: [String: Signature] = ["Discoverable": "b", "LocalName": "s", "Appearance": "q", "Includes": "as"]
    return others.merging(elements) { one, _ in one }.merging(responses) { one, _ in one }
  }()

  /// The properties of the content that are present, by name.
  var contentProperties: [String: Value] {
    var properties: [String: Value] = [:]
    if content.isConnectable { properties["Discoverable"] = .bool(content.isDiscoverable) }
    properties["LocalName"] = content.name.map(Value.string)
    properties["Appearance"] = content.appearance.map(Value.uint16)
    if !content.includes.isEmpty { properties["Includes"] = .strings(content.includes.map(\.rawValue).sorted()) }
    add(content.elements, to: &properties, prefix: "")
    if let more = content.scanResponse { add(more, to: &properties, prefix: "ScanResponse") }
    return properties
  }

  private func add(_ elements: Advertisement.ScanResponse, to properties: inout [String: Value], prefix: String) {
    func set(_ name: String, _ isEmpty: Bool, _ value: @autoclosure () -> Value) {
      if !isEmpty { properties[prefix + name] = value() }
    }
    set("ServiceUUIDs", elements.services.isEmpty, .strings(elements.services.map(\.description)))
    set("SolicitUUIDs", elements.solicitedServices.isEmpty, .strings(elements.solicitedServices.map(\.description)))
    set(
      "ManufacturerData", elements.manufacturerData.isEmpty,
      .dictionary(
        of: "qv", elements.manufacturerData.map { Value.Entry(.uint16($0.key), .variant(.bytes($0.value))) }))
    set(
      "ServiceData", elements.serviceData.isEmpty,
      .properties(
        Dictionary(uniqueKeysWithValues: elements.serviceData.map { ($0.key.description, .bytes($0.value)) })))
    set(
      "Data", elements.other.isEmpty,
      .dictionary(of: "yv", elements.other.map { Value.Entry(.byte($0.key), .variant(.bytes($0.value))) }))
  }

  /// Returns whole seconds, rounded up.
  private static func seconds(_ time: Duration) -> Value {
    let (whole, rest) = time.components
    return .uint16(UInt16(clamping: whole + (rest > 0 ? 1 : 0)))
  }
}
