internal import CSoxr

/// A converter of samples to another rate, by libsoxr in its high quality.
///
/// The result begins and ends with the input: its length is the input's times the ratio of the rates, rounded, and the
/// delay of the filter is not in it.
final class Resampler {
  private let state: OpaquePointer
  private let from: Int
  private let to: Int
  private var read = 0
  private var written = 0
  private var room = [Int16](repeating: 0, count: 16_384)

  /// - Throws: ``AudioIngestError`` with code `.codecFailed`.
  init(from: Int, to: Int) throws(AudioIngestError) {
    self.from = from
    self.to = to
    var error: soxr_error_t?
    guard let made = edgeblue_soxr_create(Double(from), Double(to), &error) else {
      let reason = error.map { String(cString: $0) } ?? "no memory"
      throw AudioIngestError(.codecFailed, "converting from \(from) Hz to \(to) Hz: \(reason)")
    }
    state = made
  }

  deinit { soxr_delete(state) }

  /// Converts samples.
  /// - Parameter result: The samples are appended here; they lag behind the input until ``finish(into:)``.
  func convert(_ samples: [Int16], into result: inout [Int16]) throws(AudioIngestError) {
    var rest = samples[...]
    read += samples.count
    while !rest.isEmpty {
      var used = 0
      var made = 0
      let error = rest.withUnsafeBufferPointer { input in
        room.withUnsafeMutableBufferPointer { output in
          soxr_process(state, input.baseAddress, input.count, &used, output.baseAddress, output.count, &made)
        }
      }
      try check(error)
      rest = rest.dropFirst(used)
      take(made, into: &result)
    }
  }

  /// Converts what the filter still has.
  func finish(into result: inout [Int16]) throws(AudioIngestError) {
    while true {
      var made = 0
      let error = room.withUnsafeMutableBufferPointer { output in
        soxr_process(state, nil, 0, nil, output.baseAddress, output.count, &made)
      }
      try check(error)
      guard made > 0 else { break }
      take(made, into: &result)
    }
    let missing = total - written
    if missing > 0 { result.append(contentsOf: repeatElement(0, count: missing)) }
  }

  /// The length of the result of all samples so far.
  private var total: Int { (read * to * 2 + from) / (from * 2) }

  /// Appends samples, but for what the library makes beyond the exact length.
  private func take(_ count: Int, into result: inout [Int16]) {
    let wanted = min(count, total - written)
    result += room[..<max(wanted, 0)]
    written += max(wanted, 0)
  }

  private func check(_ error: soxr_error_t?) throws(AudioIngestError) {
    guard let error else { return }
    throw AudioIngestError(.codecFailed, "converting from \(from) Hz to \(to) Hz: \(String(cString: error))")
  }
}
