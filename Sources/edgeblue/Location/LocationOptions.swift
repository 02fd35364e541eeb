import ArgumentParser
import Foundation
import Places
import SystemState

/// The options for a source of locations, at most one of which is used.
struct LocationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Locations of a gpsd: HOST or HOST:PORT. Default port: 2947.", valueName: "server"),
    transform: reading("a host with or without a port") { ServerAddress($0, defaultPort: 2947) })
  var gpsd: ServerAddress?
  @Flag(name: .customLong("geoclue"), help: "Locations of GeoClue, the location service of desktops.")
  var geoClue = false
  @Option(
    help: ArgumentHelp("Locations of a recorded track, in GPX or NMEA 0183.", valueName: "file"), completion: .file())
  var track: String?
  @Option(
    help: ArgumentHelp("The factor by which a track is played faster, 0.01 to 10000. Default: 1.", valueName: "factor"))
  var trackSpeed: Double?
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The place of a machine that does not move: LATITUDE,LONGITUDE in degrees.", valueName: "place"),
    transform: reading("a latitude of -90 to 90 and a longitude of -180 to 180, such as 48.2,16.37") { text in
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
      return Place(latitude: latitude, longitude: longitude)
    })
  var place: Place?

  func validate() throws {
    guard [gpsd != nil, geoClue, track != nil, place != nil].count(where: { $0 }) <= 1 else {
      throw ValidationError("--gpsd, --geoclue, --track and --place exclude each other.")
    }
    guard trackSpeed == nil || track != nil else { throw ValidationError("--track-speed needs --track.") }
  }

  /// A Boolean value that indicates whether there is a source of locations that can change.
  var canMove: Bool { gpsd != nil || geoClue || track != nil }

  /// A Boolean value that indicates whether the user has named a source.
  var isGiven: Bool { canMove || place != nil }

  /// The source of locations, for a command that needs one.
  /// - Throws: ``Failure`` without a source, and for a place that is not on the Earth.
  var requiredSource: LocationSource {
    get throws {
      guard let source = location?.source else {
        throw Failure(
          "the place is not on the Earth; allowed: a latitude of −90° to 90° and a longitude of −180° to 180°",
          status: .badInput)
      }
      return source
    }
  }

  var location: LocationSettings? {
    if let gpsd { return .init(kind: .gpsd, host: gpsd.host, port: gpsd.port) }
    if geoClue { return .init(kind: .geoClue) }
    if let track { return .init(kind: .track, path: URL(filePath: track).path, speed: trackSpeed) }
    return place.map { .init(kind: .place, latitude: $0.latitude, longitude: $0.longitude) }
  }
}
