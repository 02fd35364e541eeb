import ArgumentParser
import AudioIngest
import AudioWearables
import BlueZ

/// The options that describe the wearable; the default is the Omi family.
struct WearableOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The codec: \(AudioCodec.allCases.map(\.rawValue).joined(separator: ", ")). Required with --service; a wearable of \
      the Omi family reports its codec.
      """, valueName: "codec"), completion: .words(AudioCodec.self), transform: named)
  var codec: AudioCodec?
  @Option(
    help: ArgumentHelp("The advertised service of a wearable that is not of the Omi family.", valueName: "uuid"),
    transform: Self.uuid)
  var service: BluetoothUUID?
  @Option(
    help: ArgumentHelp("The characteristic of that service whose notifications carry audio.", valueName: "uuid"),
    transform: Self.uuid)
  var characteristic: BluetoothUUID?
  @Option(
    help: ArgumentHelp("The length of the header before the codec's data in a packet, 0 to 512 bytes.", valueName: "n"))
  var header: Int?
  @Option(
    help: ArgumentHelp("The length of the footer after the codec's data in a packet, 0 to 512 bytes.", valueName: "n"))
  var footer: Int?
  @Option(
    help: ArgumentHelp(
      "The offset of the packet number in the header, 0 to 512; two bytes, little-endian.", valueName: "n"))
  var numberAt: Int?
  @Flag(help: "The packet number has one byte.") var shortNumber = false
  @Option(
    help: ArgumentHelp("The offset of the fragment index in the header, 0 to 512.", valueName: "n"))
  var pieceAt: Int?
  @Option(help: ArgumentHelp("The length of each frame in bytes, if a packet contains several.", valueName: "n"))
  var frameLength: Int?

  func validate() throws {
    let describes = [header, footer, numberAt, pieceAt, frameLength].contains { $0 != nil } || shortNumber
    guard let service else {
      guard characteristic == nil, !describes else {
        throw ValidationError("--characteristic and the options for packets require --service.")
      }
      return
    }
    guard characteristic != nil, codec != nil else {
      throw ValidationError("--service \(service) requires --characteristic and --codec.")
    }
    if shortNumber, numberAt == nil { throw ValidationError("--short-number requires --number-at.") }
    try checkRange(of: "--header", header, 0...512)
    try checkRange(of: "--footer", footer, 0...512)
    try checkRange(of: "--number-at", numberAt, 0...512)
    try checkRange(of: "--piece-at", pieceAt, 0...512)
    do {
      _ = try framing()
    } catch {
      throw ValidationError("The packets cannot be described: \(error.message).")
    }
  }

  /// Returns the wearable that the options describe.
  /// - Throws: `AudioIngestError` if the description of its packets is invalid.
  func wearable() throws -> any Wearable {
    guard let service, let characteristic, let codec else { return OmiWearable(codec: codec) }
    return GenericWearable(service: service, characteristic: characteristic, framing: try framing(), codec: codec)
  }

  private func framing() throws(AudioIngestError) -> PacketFraming {
    let width = shortNumber ? 1 : 2
    return try PacketFraming(
      header: header ?? max((numberAt ?? -width) + width, (pieceAt ?? -1) + 1), footer: footer ?? 0,
      number: numberAt.map { PacketFraming.Number(offset: $0, width: width) }, fragmentIndex: pieceAt,
      frameLength: frameLength)
  }

  private static let uuid = reading("a Bluetooth UUID") { BluetoothUUID($0) }
}
