/// The number of bytes that an advertisement occupies, and the number available.
///
/// Every element has a header of two bytes (Core Specification 3.C.11, Supplement A). bluetoothd rejects content that
/// is too long with a bare "Failed", so the bytes are counted before.
///
/// ```swift
/// let budget = Advertisement.Content(name: "Lamp", services: ["180f"]).budget
/// print(budget.fits, budget.advertisingData, budget.scanResponse)  // true 7 6
/// ```
public struct AdvertisementBudget: Sendable, Hashable {
  /// The number of bytes of legacy advertising data, and of a scan response.
  public static let limit = 31

  /// The number of bytes in the advertising data: flags (3), services, manufacturer and service data, appearance,
  /// power.
  public var advertisingData: Int
  /// The number of bytes in the scan response, where bluetoothd puts the name.
  public var scanResponse: Int
  /// The number of bytes available for advertising data.
  public var advertisingDataLimit = limit
  /// The number of bytes available for the scan response.
  public var scanResponseLimit = limit

  init(
    _ content: Advertisement.Content, on channel: Advertisement.SecondaryChannel? = nil,
    _ capabilities: AdvertisingCapabilities = .legacy
  ) {
    // Where bluetoothd sends no flags the kernel of an LE-only adapter adds them.
    var data = 3
    data += Self.size(content.elements)
    if content.appearance != nil || content.includes.contains(.appearance) { data += 2 + 2 }
    if content.includes.contains(.txPower) { data += 2 + 1 }
    if content.includes.contains(.resolvableSetIdentifier) { data += 2 + 6 }

    var name = content.name.map { 2 + $0.utf8.count } ?? 0
    // The kernel shortens the adapter's name to 10 bytes (HCI_MAX_SHORT_NAME_LENGTH).
    if content.includes.contains(.localName) { name += 2 + 10 }
    let response = content.scanResponse.map(Self.size) ?? 0
    // Extended advertising that is connectable has no scan response (Core Specification 6.B.4.4.2.4).
    let hasResponse = channel == nil || !content.isConnectable
    advertisingData = hasResponse ? data : data + name
    scanResponse = hasResponse ? response + name : response
    if channel != nil { advertisingDataLimit = max(capabilities.maxAdvertisingData, Self.limit) }
    scanResponseLimit = hasResponse ? Self.limit : 0
  }

  private static func size(_ services: [BluetoothUUID]) -> Int {
    [2, 4, 16].reduce(0) { sum, size in
      let count = services.count { $0.advertisedSize == size }
      return count > 0 ? sum + 2 + count * size : sum
    }
  }

  private static func size(_ elements: Advertisement.ScanResponse) -> Int {
    size(elements.services) + size(elements.solicitedServices)
      + elements.manufacturerData.reduce(0) { $0 + 2 + 2 + $1.value.count }
      + elements.serviceData.reduce(0) { $0 + 2 + $1.key.advertisedSize + $1.value.count }
      + elements.other.reduce(0) { $0 + 2 + $1.value.count }
  }

  /// A Boolean value that indicates whether the content fits.
  public var fits: Bool { advertisingData <= advertisingDataLimit && scanResponse <= scanResponseLimit }

  func check() throws {
    guard advertisingData <= advertisingDataLimit else {
      throw BlueZError(
        .advertisementTooLong,
        "the advertising data has \(advertisingData) bytes, 3 of them flags; allowed: at most \(advertisingDataLimit)",
        hint: "a 128-bit service occupies 18 bytes, so only one fits")
    }
    guard scanResponse <= scanResponseLimit else {
      throw BlueZError(
        .advertisementTooLong, "the scan response has \(scanResponse) bytes; allowed: at most \(scanResponseLimit)",
        hint: scanResponseLimit == 0
          ? "connectable extended advertising has no scan response"
          : "a name of at most \(scanResponseLimit - 2) bytes fits")
    }
  }
}
