import AudioIngestTesting
import Foundation

/// How many inputs are tried where anything may come in: packets, what a device says of its store, codecs and frames.
enum Fuzz {
  /// `EDGEBLUE_FUZZ_INPUTS=10000000` tries so many in all; there are three such tests.
  static func inputs(usual: Int) -> Int {
    let asked = Int(ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"] ?? "")
    return asked.map { ($0 + 2) / 3 } ?? Sanitizer.rounds(usual)
  }
}
