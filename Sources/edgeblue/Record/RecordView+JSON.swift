import AudioIngest

extension RecordView.Track {
  /// The fields in JSON.
  var json: [String: JSON] {
    var fields: [String: JSON] = [
      "state": .string(status.state.rawValue), "device": JSON(status.device?.address),
      "deviceName": JSON(status.device?.name), "model": JSON(status.model), "battery": JSON(status.battery),
    ]
    if let stored = status.stored { fields["stored"] = .object(stored.json) }
    guard let live = status.live else { return fields }
    let counters = live.counters
    fields["codec"] = .string(live.codec.rawValue)
    fields["framesPerSecond"] = rate.perSecond.map { .decimal($0.tenths) } ?? .null
    fields["levelDB"] = .decimal(live.level.tenths)
    fields["isSpeech"] = .bool(live.isSpeech)
    fields["missingSamples"] = .number(live.missingSamples)
    fields["openSamples"] = JSON(live.openSamples)
    fields["counters"] = .object([
      "notifications": .number(counters.notifications), "bytes": .number(counters.bytes),
      "frames": .number(counters.frames), "lostFrames": .number(counters.lostFrames),
      "truncatedFrames": .number(counters.truncatedFrames), "oversizedFrames": .number(counters.oversizedFrames),
      "orphanFragments": .number(counters.orphanFragments), "lostPackets": .number(counters.lostPackets),
      "duplicates": .number(counters.duplicates), "reordered": .number(counters.reordered),
      "late": .number(counters.late), "malformed": .number(counters.malformed), "resets": .number(counters.resets),
    ])
    return fields
  }
}

extension StoredStatus {
  /// The fields in JSON.
  var json: [String: JSON] {
    [
      "isFetching": .bool(isFetching), "remaining": JSON(remaining), "records": .number(counters.records),
      "bytes": .number(counters.bytes), "malformed": .number(counters.malformed),
      "repeated": .number(counters.repeated), "overwritten": .number(counters.overwritten),
      "replaced": .number(counters.replaced), "empty": .number(counters.empty),
    ]
  }
}

extension Double {
  /// The number rounded to tenths, which is the precision of levels and rates.
  fileprivate var tenths: Double { (self * 10).rounded() / 10 }
}
