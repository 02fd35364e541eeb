/// Everything that an observer of the disk, the log and the network sees of a life, besides random bytes and times.
struct ObservedTraces {
  var parts: [String: Set<SystemCallTrace.Part>] = [:]
  /// The number of bytes of each write to the network, each once.
  var writes: Set<String> { Set(parts.values.joined().flatMap(\.network).filter { $0.hasPrefix("sent ") }) }
  /// For each attempt, the number of the first one with the same body.
  var bodies: [Int] = []
  /// The sizes of whole requests, each once.
  var requests: Set<Int> = []
  /// Name, size, mode and change of inode of each file.
  var files: Set<String> = []

  /// Returns how another life differs, a line for each difference; none for one that looks the same.
  func differences(from other: ObservedTraces) -> [String] {
    var differences: [String] = []
    for name in Set(parts.keys).union(other.parts.keys).sorted() where parts[name] != other.parts[name] {
      // On a busy machine a tick takes so long that none of a life may be early.
      if name == "skipped", parts[name] == nil || other.parts[name] == nil { continue }
      let (mine, others) = (parts[name] ?? [], other.parts[name] ?? [])
      let pair = (mine.subtracting(others).first ?? mine.first, others.subtracting(mine).first ?? others.first)
      differences.append("\(name): \(Self.difference(pair.0, pair.1)) (\(mine.count) and \(others.count) ways)")
    }
    if requests != other.requests { differences.append("requests of \(requests) and \(other.requests) bytes") }
    if bodies != other.bodies { differences.append("bodies \(bodies) and \(other.bodies)") }
    let changed = files.symmetricDifference(other.files)
    if !changed.isEmpty { differences.append("files \(changed.sorted())") }
    return differences
  }

  /// Returns the first call that differs.
  private static func difference(_ one: SystemCallTrace.Part?, _ other: SystemCallTrace.Part?) -> String {
    guard let one, let other else { return "only one of the two has it" }
    for (mine, others) in [
      (one.files, other.files), (one.network, other.network), (one.random, other.random), (one.output, other.output),
    ] where mine != others {
      let place = zip(mine, others).prefix { $0 == $1 }.count
      let calls = [mine, others].map { $0.dropFirst(place).first ?? "nothing" }
      return "call \(place) is \(calls[0]), or \(calls[1])"
    }
    return "the same calls"
  }
}
