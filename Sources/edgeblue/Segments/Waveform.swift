/// The levels of samples, one column for each horizontal step of a picture.
struct Waveform {
  /// The minimum, maximum and RMS of a range of samples, from −1 to 1.
  struct Column: Hashable {
    var low = 0.0
    var high = 0.0
    var rms = 0.0
  }

  let columns: [Column]
  /// The ranges of columns with clipped samples, in order.
  let clippedColumns: [Range<Int>]
  /// The number of places where samples are clipped.
  let clippings: Int

  /// The number of samples in a row at an end of the range that are clipped: a peak may touch it with one or two.
  private static let leastClipped = 3

  /// Divides samples into columns of equal length; at most one column per sample.
  init(_ samples: [Int16], columns count: Int) {
    let count = min(count, samples.count)
    let clipped = Self.clippings(samples)
    clippings = clipped.count
    clippedColumns = Self.merged(
      clipped.map { $0.lowerBound * count / samples.count..<($0.upperBound - 1) * count / samples.count + 1 })
    columns = (0..<count).map { index in
      let part = samples[(samples.count * index / count)..<(samples.count * (index + 1) / count)]
      var low = part.first ?? 0
      var high = low
      var sum = 0
      for sample in part {
        low = min(low, sample)
        high = max(high, sample)
        sum += Int(sample) * Int(sample)
      }
      return Column(
        low: Double(low) / 32_768, high: Double(high) / 32_768,
        rms: (Double(sum) / Double(part.count)).squareRoot() / 32_768)
    }
  }

  /// Returns the ranges of samples at the upper or at the lower end of the range.
  private static func clippings(_ samples: [Int16]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var start = 0
    for (index, sample) in samples.enumerated() where sample == .max || sample == .min {
      if index == 0 || samples[index - 1] != sample { start = index }
      let isEnd = index + 1 == samples.count || samples[index + 1] != sample
      if isEnd, index + 1 - start >= leastClipped { ranges.append(start..<index + 1) }
    }
    return ranges
  }

  /// Returns ranges in which those that touch or overlap are one.
  private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    ranges.reduce(into: []) { all, next in
      if let last = all.last, next.lowerBound <= last.upperBound {
        all[all.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
      } else {
        all.append(next)
      }
    }
  }

  /// The peak of all samples, from 0 to 1.
  var peak: Double { columns.reduce(0) { max($0, $1.high, -$1.low) } }
}

/// The positions of the marks of a time axis.
enum TimeAxis {
  private static let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800]

  /// Returns the distance between two labelled marks, in seconds: the smallest round value with at most `marks` marks.
  static func step(for duration: Double, marks: Int) -> Double {
    steps.first { duration / $0 <= Double(marks) } ?? 3600
  }

  /// Returns the number of decimals that the labels need.
  static func digits(_ step: Double) -> Int { step < 0.1 ? 2 : step < 1 ? 1 : 0 }
}
