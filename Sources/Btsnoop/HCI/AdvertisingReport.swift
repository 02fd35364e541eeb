/// One received advertisement or scan response.
public struct AdvertisingReport: Sendable, Hashable {
  /// The address of the advertiser.
  public var address: DeviceAddress
  /// A Boolean value that indicates whether the device accepts connections.
  public var isConnectable: Bool
  /// A Boolean value that indicates whether the device has a scan response.
  public var isScannable: Bool
  /// A Boolean value that indicates whether the advertisement is for this host alone.
  public var isDirected: Bool
  /// A Boolean value that indicates whether it is the answer to a scan request.
  public var isScanResponse: Bool
  /// A Boolean value that indicates whether more data of the same advertisement follows in the next report.
  public var isIncomplete: Bool
  /// The RSSI in dBm; `nil` when the controller does not know it.
  public var rssi: Int?
  /// The advertising data of the report.
  public var data: AdvertisingData

  /// Reads the reports of an event after its subevent's code.
  static func all(_ fields: inout ByteReader, isExtended: Bool) -> [AdvertisingReport]? {
    guard let count = fields.byte() else { return nil }
    var reports: [AdvertisingReport] = []
    for _ in 0..<count {
      guard let report = isExtended ? AdvertisingReport(extended: &fields) : AdvertisingReport(legacy: &fields) else {
        return nil
      }
      reports.append(report)
    }
    return reports
  }

  private init?(legacy fields: inout ByteReader) {
    guard let type = fields.byte(), let kind = fields.byte(), let address = DeviceAddress(&fields, kind: kind),
      let length = fields.byte(), let data = fields.bytes(Int(length)), let rssi = fields.signed()
    else { return nil }
    self.address = address
    // ADV_IND, ADV_DIRECT_IND, ADV_SCAN_IND, ADV_NONCONN_IND, SCAN_RSP.
    isConnectable = type == 0 || type == 1
    isScannable = type == 0 || type == 2
    isDirected = type == 1
    isScanResponse = type == 4
    isIncomplete = false
    self.rssi = Self.known(rssi)
    self.data = AdvertisingData(Array(data))
  }

  private init?(extended fields: inout ByteReader) {
    guard let type = fields.uint16(), let kind = fields.byte(), let address = DeviceAddress(&fields, kind: kind),
      // PHYs and set, then the transmission power.
      fields.bytes(3) != nil, fields.byte() != nil, let rssi = fields.signed(),
      // The interval of periodic advertising, and the address that a directed one is for.
      fields.bytes(2 + 7) != nil, let length = fields.byte(), let data = fields.bytes(Int(length))
    else { return nil }
    self.address = address
    isConnectable = type & 1 != 0
    isScannable = type & 2 != 0
    isDirected = type & 4 != 0
    isScanResponse = type & 8 != 0
    isIncomplete = type >> 5 & 3 == 1
    self.rssi = Self.known(rssi)
    self.data = AdvertisingData(Array(data))
  }

  /// 127 stands for an unknown RSSI.
  private static func known(_ rssi: Int8) -> Int? { rssi == 127 ? nil : Int(rssi) }
}
