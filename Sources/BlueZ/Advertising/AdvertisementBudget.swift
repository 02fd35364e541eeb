/// How many of the 31 bytes of legacy advertising data an advertisement takes, and of the 31 of its scan response.
///
/// Every element costs two bytes of header (Core Specification 3.C.11, Supplement A).
public struct AdvertisementBudget: Sendable, Hashable {
  /// The bytes of advertising data, and of a scan response.
  public static let limit = 31

  /// Bytes in the advertising data: flags (3), services, manufacturer and service data.
  public var advertisingData: Int
  /// Bytes in the scan response, where bluetoothd puts the name.
  public var scanResponse: Int

  init(_ advertisement: Advertisement.Content) {
    var data = 3
    for size in [2, 4, 16] {
      let count = advertisement.services.filter { $0.advertisedSize == size }.count
      if count > 0 { data += 2 + count * size }
    }
    for (_, bytes) in advertisement.manufacturerData { data += 2 + 2 + bytes.count }
    for (uuid, bytes) in advertisement.serviceData { data += 2 + uuid.advertisedSize + bytes.count }
    advertisingData = data
    scanResponse = advertisement.name.map { 2 + $0.utf8.count } ?? 0
  }

  /// Whether it fits.
  public var fits: Bool { advertisingData <= Self.limit && scanResponse <= Self.limit }

  func check() throws {
    guard advertisingData <= Self.limit else {
      throw BlueZError(
        .advertisementTooLong,
        "services and data take \(advertisingData) bytes; \(Self.limit) fit (flags are 3 of them)",
        hint: "a 128-bit service takes 18, so one fits; advertise the others after connecting")
    }
    guard scanResponse <= Self.limit else {
      throw BlueZError(
        .advertisementTooLong, "the name takes \(scanResponse) bytes of the scan response; \(Self.limit) fit",
        hint: "a name of at most \(Self.limit - 2) bytes fits")
    }
  }
}
