import ArgumentParser
import Foundation
import SpeedTest

/// The options for the plan of a loop, and for the source of its locations.
struct LoopOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The number of tests, 1 to 500. Default: 50.", valueName: "n"))
  var tests: Int?
  @Option(
    help: ArgumentHelp(
      "The time from the start of one test to that of the next one, 5 to 1440 minutes. Default: 15.",
      valueName: "minutes"))
  var minutes: Int?
  @Option(
    help: ArgumentHelp(
      "The distance that starts the next test earlier, 25 to 10000 m. Default: 250; without a source of locations none.",
      valueName: "m"))
  var metres: Double?
  @OptionGroup var source: LocationOptions
  @Flag(help: "Run tests though nobody is at the machine, as on a board without a seat.")
  var unattended = false
  @Option(
    help: ArgumentHelp(
      "The local hours in which no notification is shown, such as 22:00-07:00.", valueName: "from-to"),
    transform: reading("a range of hours, such as 22:00-07:00", LoopOptions.hours))
  var night: LoopNightHours?
  @Option(help: ArgumentHelp("For tests of the program.", visibility: .hidden))
  var delaySeconds: Double?
  @Option(help: ArgumentHelp("For tests of the program.", visibility: .hidden))
  var retrySeconds: Double?

  func validate() throws {
    guard metres == nil || source.canMove else {
      throw ValidationError("--metres needs a source of locations: --gpsd, --geoclue or --track.")
    }
    _ = try plan()
  }

  /// A Boolean value that indicates whether the user has given any of the options.
  var isAnyGiven: Bool {
    tests != nil || minutes != nil || metres != nil || source.isGiven || unattended || night != nil
      || delaySeconds != nil
  }

  func plan() throws -> LoopPlan {
    let movement = metres ?? (source.canMove ? 250 : nil)
    if let delaySeconds {
      return try LoopPlan(
        tests: tests ?? 50, anyDelay: .seconds(delaySeconds), retryDelay: .seconds(retrySeconds ?? 60),
        movement: movement, isUnattended: unattended, nightHours: night)
    }
    do {
      return try LoopPlan(
        tests: tests ?? 50, delay: .seconds(60 * (minutes ?? 15)), movement: movement, isUnattended: unattended,
        nightHours: night)
    } catch {
      throw ValidationError("\(error.message).")
    }
  }

  var location: LocationSettings? { source.location }

  private static func hours(_ text: String) -> LoopNightHours? {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { minute(String($0)) }
    guard ends.count == 2, let from = ends[0], let to = ends[1] else { return nil }
    return try? LoopNightHours(from: from, to: to)
  }

  private static func minute(_ text: String) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let hour = parts[0], let minute = parts[1], (0..<24).contains(hour),
      (0..<60).contains(minute)
    else { return nil }
    return hour * 60 + minute
  }
}
