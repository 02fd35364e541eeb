internal import Foundation

/// Returns a sound like a voice: a tone with overtones that rises and falls, loud and soft by turns.
///
/// ```swift
/// let second = voiceLikeSound(samples: 16_000, rate: 16_000)
/// print(second.count)  // 16000
/// ```
public func voiceLikeSound(samples: Int, rate: Int) -> [Int16] {
  var phase = 0.0
  return (0..<samples).map { index in
    let time = Double(index) / Double(rate)
    phase += 2 * .pi * (140 + 40 * sin(2 * .pi * 0.7 * time)) / Double(rate)
    let loudness = 0.5 + 0.5 * sin(2 * .pi * 3 * time)
    let wave = sin(phase) + 0.5 * sin(2 * phase) + 0.3 * sin(5 * phase)
    return Int16(6000 * loudness * wave)
  }
}
