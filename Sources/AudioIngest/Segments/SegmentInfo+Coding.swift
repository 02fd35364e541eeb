extension SegmentInfo: Codable {
  /// The keys of the sidecar, which other programs read.
  private enum CodingKeys: String, CodingKey {
    case version, id, capturedAtMs, capturedAt, localDate, timeZone, utcOffset, device, deviceName, codec, sampleRate
    case previous, backfill, samples, duration, closedBy, gaps, missingSamples, speech, peak, rms, sha256
  }

  /// Reads a description from the flat object of a sidecar.
  /// - Throws: `DecodingError` if a value is missing, malformed, or one that no recorder writes.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    version = try values.decode(Int.self, forKey: .version)
    id = try values.decode(Int.self, forKey: .id)
    capture = Capture(
      unixMs: try values.decode(Int64.self, forKey: .capturedAtMs),
      iso8601: try values.decode(String.self, forKey: .capturedAt),
      localDate: try values.decode(String.self, forKey: .localDate),
      timeZone: try values.decode(String.self, forKey: .timeZone),
      utcOffset: try values.decode(Int.self, forKey: .utcOffset))
    device = AudioDevice(
      address: try values.decode(String.self, forKey: .device),
      name: try values.decodeIfPresent(String.self, forKey: .deviceName))
    codec = try values.decode(AudioCodec.self, forKey: .codec)
    sampleRate = try values.decode(Int.self, forKey: .sampleRate)
    previous = try values.decodeIfPresent(Previous.self, forKey: .previous)
    backfill = try values.decodeIfPresent(Backfill.self, forKey: .backfill)
    samples = try values.decode(Int.self, forKey: .samples)
    duration = try values.decode(Double.self, forKey: .duration)
    closedBy = try values.decode(SegmentEnd.self, forKey: .closedBy)
    gaps = try values.decode([AudioGap].self, forKey: .gaps)
    missingSamples = try values.decode(Int.self, forKey: .missingSamples)
    speech = try values.decode([Speech].self, forKey: .speech)
    measured = Measurement(
      peak: try values.decode(Double.self, forKey: .peak), rms: try values.decode(Double.self, forKey: .rms),
      sha256: try values.decode(String.self, forKey: .sha256))
    guard isSound else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "a number that no recorder writes"))
    }
  }

  /// Writes the description as the flat object of a sidecar.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(version, forKey: .version)
    try values.encode(id, forKey: .id)
    try values.encode(capture.unixMs, forKey: .capturedAtMs)
    try values.encode(capture.iso8601, forKey: .capturedAt)
    try values.encode(capture.localDate, forKey: .localDate)
    try values.encode(capture.timeZone, forKey: .timeZone)
    try values.encode(capture.utcOffset, forKey: .utcOffset)
    try values.encode(device.address, forKey: .device)
    try values.encodeIfPresent(device.name, forKey: .deviceName)
    try values.encode(codec, forKey: .codec)
    try values.encode(sampleRate, forKey: .sampleRate)
    try values.encodeIfPresent(previous, forKey: .previous)
    try values.encodeIfPresent(backfill, forKey: .backfill)
    try values.encode(samples, forKey: .samples)
    try values.encode(duration, forKey: .duration)
    try values.encode(closedBy, forKey: .closedBy)
    try values.encode(gaps, forKey: .gaps)
    try values.encode(missingSamples, forKey: .missingSamples)
    try values.encode(speech, forKey: .speech)
    try values.encode(measured.peak, forKey: .peak)
    try values.encode(measured.rms, forKey: .rms)
    try values.encode(measured.sha256, forKey: .sha256)
  }
}
