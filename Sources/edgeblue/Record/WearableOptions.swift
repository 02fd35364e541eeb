import ArgumentParser
import AudioIngest
import BlueZ

/// Which kind of wearable to record: the Omi family, unless another is described.
struct WearableOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      What it encodes with: \(AudioCodec.allCases.map(\.rawValue).joined(separator: ", ")). A wearable of the Omi family \
      says so itself; another does not.
      """, valueName: "codec"), transform: { try named($0) })
  var codec: AudioCodec?
  @Option(
    help: ArgumentHelp("Record a wearable of another kind: the service that it advertises.", valueName: "uuid"),
    transform: Self.uuid)
  var service: BluetoothUUID?
  @Option(
    help: ArgumentHelp("The characteristic of that service that notifies of audio.", valueName: "uuid"),
    transform: Self.uuid)
  var characteristic: BluetoothUUID?
  @Option(help: ArgumentHelp("How many bytes stand before the codec's, 0 to 512.", valueName: "n")) var header: Int?
  @Option(help: ArgumentHelp("How many bytes stand behind the codec's, 0 to 512.", valueName: "n")) var footer: Int?
  @Option(
    help: ArgumentHelp(
      "Where the packet's number stands in the header, two bytes, the lower one first.", valueName: "n"))
  var numberAt: Int?
  @Flag(help: "The packet's number has one byte.") var shortNumber = false
  @Option(
    help: ArgumentHelp("Where it stands in the header which piece of its frame a packet is.", valueName: "n"))
  var pieceAt: Int?
  @Option(help: ArgumentHelp("The length of each frame, where a packet has several.", valueName: "n"))
  var frameLength: Int?

  func validate() throws {
    let describes = [header, footer, numberAt, pieceAt, frameLength].contains { $0 != nil } || shortNumber
    guard let service else {
      guard characteristic == nil, !describes else { throw ValidationError("A description begins with --service.") }
      return
    }
    guard characteristic != nil, codec != nil else {
      throw ValidationError("A wearable with the service \(service) needs --characteristic and --codec.")
    }
    if shortNumber, numberAt == nil { throw ValidationError("--short-number is about --number-at.") }
    guard [header, footer, numberAt, pieceAt].allSatisfy({ 0...512 ~= $0 ?? 0 }) else {
      throw ValidationError("A place in a packet is 0 to 512.")
    }
    do {
      _ = try framing()
    } catch {
      throw ValidationError("Packets have no \(error.message).")
    }
  }

  /// The wearable that was described.
  /// - Throws: `AudioIngestError` when its packets cannot be.
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

  private static func uuid(_ text: String) throws -> BluetoothUUID {
    guard let uuid = BluetoothUUID(text) else { throw ValidationError("'\(text)' is no Bluetooth UUID.") }
    return uuid
  }
}

/// A case of an enumeration of another module, by its name.
/// - Throws: `ValidationError` that says which there are.
func named<Value: CaseIterable & RawRepresentable>(_ text: String) throws -> Value where Value.RawValue == String {
  guard let value = Value(rawValue: text) else {
    throw ValidationError("'\(text)' is none of \(Value.allCases.map(\.rawValue).joined(separator: ", ")).")
  }
  return value
}
