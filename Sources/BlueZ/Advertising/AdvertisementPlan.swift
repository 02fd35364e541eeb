/// What is asked of bluetoothd for an advertisement, and what was given up for that.
struct AdvertisementPlan: Sendable, Hashable {
  var content: Advertisement.Content
  var parameters: Advertisement.Parameters
  var fallbacks: [Advertisement.Fallback] = []

  /// Makes a plan of what was wished that fits what there is.
  /// - Parameters:
  ///   - isExperimental: whether bluetoothd runs with `-E`.
  ///   - version: which it is; an unknown one is taken for an old one.
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
      try giveUp(.txPowerElement, "its power in the advertisement", capabilities)
    }
    try budget(capabilities).check()
    for include in self.content.includes.subtracting(capabilities.includes).sorted(by: { $0.rawValue < $1.rawValue }) {
      throw BlueZError(.notSupported, "the adapter does not include \(include.rawValue) in advertisements")
    }
    if let channel = parameters.secondaryChannel, !capabilities.secondaryChannels.contains(channel) {
      throw BlueZError(
        .notSupported, "the adapter does not advertise on \(channel.rawValue)",
        hint: capabilities.secondaryChannels.isEmpty ? "it has no extended advertising" : nil)
    }
    let takesResponse = isExperimental && version?.has(.scanResponses) == true
    guard content.scanResponse == nil || takesResponse else {
      throw BlueZError(
        .notSupported, "bluetoothd \(version?.description ?? "of an unknown version") takes no scan response",
        hint: "that needs BlueZ 5.80 and `bluetoothd -E`; the name is in the scan response in any case")
    }
    let takesTiming = isExperimental || version?.has(.advertisingInterval) == true
    if !takesTiming {
      if parameters.txPower != nil { try giveUp(.txPower, "a power to send with", capabilities) }
      if parameters.interval != nil { try giveUp(.interval, "an advertising interval", capabilities) }
    }
  }

  /// The next step down after bluetoothd said "Failed" without a reason; `nil` when nothing is left to give up.
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
        .notSupported, "bluetoothd or the adapter does not take \(what)",
        hint: fallback == .txPowerElement ? nil : "that needs BlueZ 5.77, or `bluetoothd -E`")
    }
    drop(fallback)
  }
}

extension AdvertisementPlan {
  /// The AD types that have fields of their own, and which; bluetoothd refuses them as raw data.
  private static let fields: [UInt8: String] = [
    0x01: "isDiscoverable", 0x02: "services", 0x03: "services", 0x04: "services", 0x05: "services", 0x06: "services",
    0x07: "services", 0x08: "name", 0x09: "name", 0x0a: "includes", 0x14: "solicitedServices",
    0x15: "solicitedServices", 0x16: "serviceData", 0x19: "appearance", 0x1f: "solicitedServices",
    0x20: "serviceData", 0x21: "serviceData", 0xff: "manufacturerData",
  ]

  private func checkContent() throws {
    for type in content.other.keys.sorted() + (content.scanResponse?.other.keys.sorted() ?? []) {
      if let field = Self.fields[type] {
        throw BlueZError(.invalidArgument, "an advertisement with raw data of type \(type)", hint: "use `\(field)`")
      }
    }
    if content.isDiscoverable, !content.isConnectable {
      throw BlueZError(.invalidArgument, "an advertisement that is discoverable but not connectable")
    }
    if content.name != nil, content.includes.contains(.localName) {
      throw BlueZError(.invalidArgument, "an advertisement with a name and the adapter's name")
    }
    if content.appearance != nil, content.includes.contains(.appearance) {
      throw BlueZError(.invalidArgument, "an advertisement with an appearance and the adapter's appearance")
    }
  }

  private func checkParameters() throws {
    if let interval = parameters.interval,
      interval.lowerBound < .milliseconds(20) || interval.upperBound > .milliseconds(10_240)
    {
      throw BlueZError(.invalidArgument, "an advertising interval of \(interval)", hint: "it takes 20 ms … 10.24 s")
    }
    if let txPower = parameters.txPower, !(-127...20).contains(txPower) {
      throw BlueZError(.invalidArgument, "a power of \(txPower) dBm", hint: "it takes −127…20")
    }
    for time in [parameters.turn, parameters.timeout, parameters.discoverableTimeout] {
      if let time, time < .seconds(1) || time > .seconds(65_535) {
        throw BlueZError(.invalidArgument, "an advertisement for \(time)", hint: "it takes 1…65535 s")
      }
    }
    if let timeout = parameters.timeout, let discoverable = parameters.discoverableTimeout, discoverable > timeout {
      throw BlueZError(.invalidArgument, "an advertisement that is discoverable for longer than it lasts")
    }
  }
}
