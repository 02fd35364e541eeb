import AudioIngest
import JSONValues

extension RecordView.Track {
  /// The fields in JSON.
  var json: [String: JSONValue] {
    var fields: [String: JSONValue] = [
      "state": .string(status.state.rawValue), "device": JSONValue(status.device?.address),
      "deviceName": JSONValue(status.device?.name), "model": JSONValue(status.model),
      "battery": JSONValue(status.battery),
    ]
    if let stored = status.stored { fields["stored"] = .object(stored.json) }
    guard let live = status.live else { return fields }
    let counters = live.counters
    fields["codec"] = .string(live.codec.rawValue)
    fields["framesPerSecond"] = rate.perSecond.map { .number($0.tenths) } ?? .null
    fields["levelDB"] = .number(live.level.tenths)
    fields["isSpeech"] = .bool(live.isSpeech)
    fields["missingSamples"] = .number(live.missingSamples)
    fields["openSamples"] = JSONValue(live.openSamples)
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
  var json: [String: JSONValue] {
    [
      "isFetching": .bool(isFetching), "remaining": JSONValue(remaining), "records": .number(counters.records),
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
