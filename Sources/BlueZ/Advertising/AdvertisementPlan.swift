/// The content and parameters that bluetoothd is requested to advertise, and the fallbacks applied to them.
struct AdvertisementPlan: Sendable, Hashable {
  var content: Advertisement.Content
  var parameters: Advertisement.Parameters
  var fallbacks: [Advertisement.Fallback] = []

  /// Creates a plan that fits the capabilities.
  /// - Parameters:
  ///   - isExperimental: `true` if bluetoothd runs with `-E`.
  ///   - version: The release of bluetoothd; an unknown one is treated as an old one.
  /// - Throws: ``BlueZError`` with code `.invalidArgument`, `.advertisementTooLong` or `.notSupported`.
  init(
    _ content: Advertisement.Content, _ parameters: Advertisement.Parameters, on capabilities: AdvertisingCapabilities,
    _ version: BlueZRelease?, isExperimental: Bool
  ) throws {
    self.content = content
    self.parameters = parameters
    try checkContent()
    try checkParameters()

    if content.includes.contains(.txPower), !capabilities.includes.contains(.txPower) || !budget(capabilities).fits {
      try giveUp(.txPowerElement, "the transmit power in the advertisement", capabilities)
    }
    try budget(capabilities).check()
    for include in self.content.includes.subtracting(capabilities.includes).sorted(by: { $0.rawValue < $1.rawValue }) {
      throw BlueZError(.notSupported, "the adapter does not support the advertisement element \(include.rawValue)")
    }
    if let channel = parameters.secondaryChannel, !capabilities.secondaryChannels.contains(channel) {
      throw BlueZError(
        .notSupported, "the adapter does not support advertising on the PHY \(channel.rawValue)",
        hint: capabilities.secondaryChannels.isEmpty ? "it does not support extended advertising" : nil)
    }
    let takesResponse = isExperimental && version?.has(.scanResponses) == true
    guard content.scanResponse == nil || takesResponse else {
      throw BlueZError(
        .notSupported, "bluetoothd \(version?.description ?? "of an unknown version") does not support scan responses",
        hint: "that needs BlueZ 5.80 and `bluetoothd -E`; the name is in the scan response in any case")
    }
    let takesTiming = isExperimental || version?.has(.advertisingInterval) == true
    if !takesTiming {
      if parameters.txPower != nil { try giveUp(.txPower, "a transmit power", capabilities) }
      if parameters.interval != nil { try giveUp(.interval, "an advertising interval", capabilities) }
    }
  }

  /// Returns the plan with one more fallback, after bluetoothd replied "Failed" without a reason; `nil` when none is
  /// left.
  func next() -> AdvertisementPlan? {
    var plan = self
    for fallback in Advertisement.Fallback.allCases
    where parameters.allowedFallbacks.contains(fallback) && isWished(fallback) {
      plan.drop(fallback)
      return plan
    }
    return nil
  }

  func budget(_ capabilities: AdvertisingCapabilities) -> AdvertisementBudget {
    AdvertisementBudget(content, on: parameters.secondaryChannel, capabilities)
  }

  private func isWished(_ fallback: Advertisement.Fallback) -> Bool {
    switch fallback {
    case .txPowerElement: content.includes.contains(.txPower)
    case .txPower: parameters.txPower != nil
    case .interval: parameters.interval != nil
    }
  }

  private mutating func drop(_ fallback: Advertisement.Fallback) {
    switch fallback {
    case .txPowerElement: content.includes.remove(.txPower)
    case .txPower: parameters.txPower = nil
    case .interval: parameters.interval = nil
    }
    fallbacks.append(fallback)
  }

  private mutating func giveUp(
    _ fallback: Advertisement.Fallback, _ what: String, _ capabilities: AdvertisingCapabilities
  ) throws {
    guard parameters.allowedFallbacks.contains(fallback) else {
      if fallback == .txPowerElement { try budget(capabilities).check() }
      throw BlueZError(
        .notSupported, "bluetoothd or the adapter does not support \(what)",
        hint: fallback == .txPowerElement ? nil : "that needs BlueZ 5.77, or `bluetoothd -E`")
    }
    drop(fallback)
  }
}

extension AdvertisementPlan {
  /// The AD types that have properties of their own, and these properties; bluetoothd rejects them as raw data.
  private static let fields: [UInt8: String] = [
    0x01: "isDiscoverable", 0x02: "services", 0x03: "services", 0x04: "services", 0x05: "services", 0x06: "services",
    0x07: "services", 0x08: "name", 0x09: "name", 0x0a: "includes", 0x14: "solicitedServices",
    0x15: "solicitedServices", 0x16: "serviceData", 0x19: "appearance", 0x1f: "solicitedServices",
    0x20: "serviceData", 0x21: "serviceData", 0xff: "manufacturerData",
  ]

  private func checkContent() throws {
    for type in content.other.keys.sorted() + (content.scanResponse?.other.keys.sorted() ?? []) {
      if let field = Self.fields[type] {
        throw BlueZError(
          .invalidArgument, "raw data of AD type \(type), which has a property of its own", hint: "use `\(field)`")
      }
    }
    if content.isDiscoverable, !content.isConnectable {
      throw BlueZError(.invalidArgument, "the advertisement is discoverable but not connectable")
    }
    if content.name != nil, content.includes.contains(.localName) {
      throw BlueZError(.invalidArgument, "the advertisement has a name and includes the adapter's name")
    }
    if content.appearance != nil, content.includes.contains(.appearance) {
      throw BlueZError(.invalidArgument, "the advertisement has an appearance and includes the adapter's appearance")
    }
  }

  private func checkParameters() throws {
    if let interval = parameters.interval,
      interval.lowerBound < .milliseconds(20) || interval.upperBound > .milliseconds(10_240)
    {
      throw BlueZError(.invalidArgument, "the advertising interval is \(interval); allowed: 20 ms to 10.24 s")
    }
    if let txPower = parameters.txPower, !(-127...20).contains(txPower) {
      throw BlueZError(.invalidArgument, "the transmit power is \(txPower) dBm; allowed: −127 to 20")
    }
    for time in [parameters.turn, parameters.timeout, parameters.discoverableTimeout] {
      if let time, time < .seconds(1) || time > .seconds(65_535) {
        throw BlueZError(.invalidArgument, "a duration of the advertisement is \(time); allowed: 1 s to 65535 s")
      }
    }
    if let timeout = parameters.timeout, let discoverable = parameters.discoverableTimeout, discoverable > timeout {
      throw BlueZError(
        .invalidArgument, "the discoverable timeout is \(discoverable); allowed: at most the timeout, \(timeout)")
    }
  }
}
