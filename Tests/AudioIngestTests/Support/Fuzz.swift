import AudioIngestTesting
import Foundation

/// The number of inputs for each fuzz test: of packets, of a store's replies, of codecs and of frames.
enum Fuzz {
  /// `EDGEBLUE_FUZZ_INPUTS=10000000` tries so many in all; there are three such tests.
  static func inputs(usual: Int) -> Int {
    let asked = Int(ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"] ?? "")
    return asked.map { ($0 + 2) / 3 } ?? Sanitizer.rounds(usual)
  }
}
