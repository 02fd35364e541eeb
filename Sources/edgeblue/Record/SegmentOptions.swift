import ArgumentParser
import AudioIngest

/// The options for segments: what is recorded, where segments end, and the space they use.
struct SegmentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Record everything (the default), or only speech with its surroundings.", valueName: "everything|speech"),
    completion: .words(SegmentRules.Mode.self), transform: named)
  var keep = SegmentRules.Mode.everything
  @Option(help: ArgumentHelp("The limit of a segment, 2 to 3600 s.", valueName: "seconds")) var maximum = 180
  @Option(help: ArgumentHelp("The silence that ends a segment of speech, 1 to 600 s.", valueName: "seconds"))
  var silence = 10
  @Option(help: ArgumentHelp("The audio to keep from before speech starts, 1 to 10 s.", valueName: "seconds"))
  var preRoll =
    1
  @Option(
    help: ArgumentHelp(
      "The quota of recordings. Beyond it, delivered segments are removed, oldest first; if that is not enough, recording stops.",
      valueName: "MiB"))
  var quota = SegmentFolder.Limits().quota >> 20
  @Option(help: ArgumentHelp("The space that stays free on the disk.", valueName: "MiB"))
  var reserve = SegmentFolder.Limits().reserve >> 20

  func validate() throws {
    try checkRange(of: "--maximum", maximum, 2...3600, unit: "s")
    try checkRange(of: "--silence", silence, 1...600, unit: "s")
    try checkRange(of: "--pre-roll", preRoll, 1...10, unit: "s")
    // 1 PiB; larger values would overflow as bytes.
    try checkRange(of: "--quota", quota, 1...1 << 30, unit: "MiB")
    try checkRange(of: "--reserve", reserve, 0...1 << 30, unit: "MiB")
  }

  var rules: SegmentRules {
    SegmentRules(mode: keep, silence: .seconds(silence), maximum: .seconds(maximum), preRoll: .seconds(preRoll))
  }

  var limits: SegmentFolder.Limits { .init(quota: quota << 20, reserve: reserve << 20) }
}
