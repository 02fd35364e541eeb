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
  @Option(
    help: ArgumentHelp(
      "Locations of a gpsd: HOST or HOST:PORT. Default port: 2947.", valueName: "server"),
    transform: reading("a host with or without a port") { ServerAddress($0, defaultPort: 2947) })
  var gpsd: ServerAddress?
  @Flag(name: .customLong("geoclue"), help: "Locations of GeoClue, the location service of desktops.")
  var geoClue = false
  @Option(help: ArgumentHelp("Locations of a recorded track, in GPX or NMEA 0183.", valueName: "file"))
  var track: String?
  @Option(
    help: ArgumentHelp("The factor by which a track is played faster, 0.01 to 10000. Default: 1.", valueName: "factor"))
  var trackSpeed: Double?
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The place of a machine that does not move: LATITUDE,LONGITUDE in degrees.", valueName: "place"),
    transform: reading("a latitude and a longitude, such as 48.2,16.37") { text in
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
      return LoopPlace(latitude: latitude, longitude: longitude)
    })
  var place: LoopPlace?
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
    guard [gpsd != nil, geoClue, track != nil, place != nil].count(where: { $0 }) <= 1 else {
      throw ValidationError("--gpsd, --geoclue, --track and --place exclude each other.")
    }
    guard trackSpeed == nil || track != nil else { throw ValidationError("--track-speed needs --track.") }
    guard metres == nil || canMove else {
      throw ValidationError("--metres needs a source of locations: --gpsd, --geoclue or --track.")
    }
    _ = try plan()
  }

  /// A Boolean value that indicates whether there is a source of locations that can change.
  private var canMove: Bool { gpsd != nil || geoClue || track != nil }

  /// A Boolean value that indicates whether the user has given any of the options.
  var isAnyGiven: Bool {
    tests != nil || minutes != nil || metres != nil || canMove || place != nil || unattended || night != nil
      || delaySeconds != nil
  }

  func plan() throws -> LoopPlan {
    let movement = metres ?? (canMove ? 250 : nil)
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

  var location: LoopSettings.Location? {
    if let gpsd { return .init(kind: .gpsd, host: gpsd.host, port: gpsd.port) }
    if geoClue { return .init(kind: .geoClue) }
    if let track { return .init(kind: .track, path: URL(filePath: track).path, speed: trackSpeed) }
    return place.map { .init(kind: .place, latitude: $0.latitude, longitude: $0.longitude) }
  }

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
