import ArgumentParser
import AudioIngest

/// What is kept of a recording, and where it is cut.
struct SegmentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Keep everything, or only speech with what is around it.", valueName: "everything|speech"),
    transform: { try named($0) })
  var keep = SegmentRules.Mode.everything
  @Option(help: ArgumentHelp("The longest segment, 2 to 3600.", valueName: "seconds")) var maximum = 180
  @Option(help: ArgumentHelp("How much silence ends a segment of speech, 1 to 600.", valueName: "seconds"))
  var silence = 10
  @Option(help: ArgumentHelp("What is kept from before somebody speaks, 1 to 10.", valueName: "seconds")) var preRoll =
    1
  @Option(
    help: ArgumentHelp(
      "The most that recordings may take. Beyond it delivered segments go, the oldest first; then nothing is recorded.",
      valueName: "MiB"))
  var quota = SegmentFolder.Limits().quota >> 20
  @Option(help: ArgumentHelp("What is left free on the disk for everybody else.", valueName: "MiB"))
  var reserve = SegmentFolder.Limits().reserve >> 20

  func validate() throws {
    guard (2...3600).contains(maximum) else { throw ValidationError("--maximum is 2 to 3600 seconds.") }
    guard (1...600).contains(silence) else { throw ValidationError("--silence is 1 to 600 seconds.") }
    guard (1...10).contains(preRoll) else { throw ValidationError("--pre-roll is 1 to 10 seconds.") }
    // A pebibyte; more does not fit into numbers of bytes.
    guard (1...1 << 30).contains(quota) else { throw ValidationError("--quota is 1 to \(1 << 30) MiB.") }
    guard (0...1 << 30).contains(reserve) else { throw ValidationError("--reserve is 0 to \(1 << 30) MiB.") }
  }

  var rules: SegmentRules {
    SegmentRules(mode: keep, silence: .seconds(silence), maximum: .seconds(maximum), preRoll: .seconds(preRoll))
  }

  var limits: SegmentFolder.Limits { .init(quota: quota << 20, reserve: reserve << 20) }
}
