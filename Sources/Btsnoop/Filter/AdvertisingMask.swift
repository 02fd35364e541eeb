/// The parts of advertising reports, by their places in the content of an event.
private struct ReportPlaces {
  /// The report with all its fields.
  var range: Range<Int>
  /// The first byte of the address; the kind of the address is before it.
  var address: Int
  /// The length of the data; the data follows.
  var length: Int

  /// Finds the reports; the event was decoded before, so that they are complete.
  static func all(_ bytes: [UInt8]) -> [ReportPlaces] {
    // Code, length, subevent, count.
    guard bytes.count > 4, bytes[0] == 0x3e, bytes[2] == 0x02 || bytes[2] == 0x0d else { return [] }
    let isExtended = bytes[2] == 0x0d
    var found: [ReportPlaces] = []
    var start = 4
    for _ in 0..<bytes[3] {
      let length = start + (isExtended ? 23 : 8)
      guard length < bytes.count else { return found }
      let end = length + 1 + Int(bytes[length]) + (isExtended ? 0 : 1)
      guard end <= bytes.count else { return found }
      found.append(ReportPlaces(range: start..<end, address: start + (isExtended ? 3 : 2), length: length))
      start = end
    }
    return found
  }
}

extension CaptureRecord {
  /// Removes the reports of other devices from an event.
  /// - Returns: `false` if none stays.
  mutating func keepReports(_ isKept: (DeviceAddress) -> Bool) -> Bool {
    let kept = ReportPlaces.all(bytes).filter { report in
      var fields = ByteReader(bytes[report.address...])
      return DeviceAddress(&fields, kind: 0).map(isKept) ?? false
    }
    guard !kept.isEmpty else { return false }
    let reports = kept.flatMap { bytes[$0.range] }
    bytes = [bytes[0], UInt8(clamping: reports.count + 2), bytes[2], UInt8(clamping: kept.count)] + reports
    originalLength = bytes.count
    return true
  }

  /// Removes names and data from the advertisements of an event, and names and data of Bluetooth Classic.
  mutating func maskEvent() {
    for report in ReportPlaces.all(bytes) { zeroAdvertisingData(from: report.length) }
    guard let code = bytes.first else { return }
    // Remote Name Request Complete: status and address before the name. Extended Inquiry Result.
    if code == 0x07 { zero(9...) }
    if code == 0x2f { zero(17...) }
    // Read Local Name and others of the host are its own; the results of reading EIR are, too.
  }

  /// Replaces the content of private elements with zeros.
  /// - Parameter start: The place of the length, which the data follows.
  mutating func zeroAdvertisingData(from start: Int) {
    guard bytes.indices.contains(start) else { return }
    var place = start + 1
    let end = min(place + Int(bytes[start]), bytes.count)
    while place + 1 < end, bytes[place] > 0 {
      let next = min(place + 1 + Int(bytes[place]), end)
      if AdvertisingData.isPayload(bytes[place + 1]) { zero((place + 2)..<next) }
      place = next
    }
  }
}
