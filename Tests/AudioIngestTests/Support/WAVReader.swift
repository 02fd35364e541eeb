import Foundation
import SystemTesting
import Testing

/// Programs that read WAV files for a living.
enum WAVReader: String, CaseIterable {
  /// It also says when a file is cut off.
  case mediainfo
  case ffprobe
  case sox

  var isThere: Bool { ChildProcess.path(of: rawValue) != nil }
  static let allAreThere = allCases.allSatisfy(\.isThere)
  static let allNeeded: Comment = "needs mediainfo, ffprobe and sox"

  private var arguments: [String] {
    switch self {
    case .mediainfo:
      ["--Inform=Audio;%Format%/%SamplingRate%/%Channels%/%BitDepth%/%SamplingCount%/%IsTruncated%/"]
    case .ffprobe:
      ["-v", "error", "-show_entries", "stream=codec_name,sample_rate,channels,duration", "-of", "csv=p=0"]
    case .sox: ["--info", "-s"]
    }
  }

  /// What it says of a whole file of 16 bit, one channel, 16 kHz.
  private func words(samples: Int) -> String {
    switch self {
    case .mediainfo: "PCM/16000/1/16/\(samples)//"
    case .ffprobe: "pcm_s16le,16000,1," + String(format: "%.6f", Double(samples) / 16_000)
    case .sox: "\(samples)"
    }
  }

  /// Has it read a file of 16 bit, one channel, 16 kHz, which must have so many samples.
  func accepts(_ path: String, samples: Int) async throws {
    let outcome = try await ChildProcess(rawValue, arguments + [path], errors: .kept).outcome()
    let said = outcome.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(outcome.status == 0 && said == words(samples: samples), "\(rawValue): \(said) \(outcome.errors)")
  }
}
