import ArgumentParser
import AudioIngest

/// The options for the form of audio that `edgeblue record` delivers.
struct DeliveryOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The format of uploaded audio. Default: the one named last for this folder, else wav.",
      valueName: "wav|flac|opus"),
    completion: .words(AudioFileFormat.self), transform: named)
  var format: AudioFileFormat?
  @Option(
    help: ArgumentHelp(
      "The sample rate of uploaded audio and of the file for --exec, 8000 to 48000 Hz, or `codec` for that of the "
        + "wearable. Default: the one named last for this folder, else codec.",
      valueName: "hertz"),
    transform: reading("a sample rate of 8000 to 48000 Hz, or `codec`") { DeliveryRate($0) })
  var rate: DeliveryRate?

  /// Refuses options that have no effect.
  func validate(uploads: Bool, runsCommand: Bool) throws {
    if format != nil, !uploads { throw ValidationError("--format is the format of uploads: add --upload.") }
    if rate != nil, !uploads, !runsCommand {
      throw ValidationError("--rate is the sample rate of uploads and for commands: add --upload or --exec.")
    }
  }

  /// Returns the form in which segments are delivered, and records it for the programs that do that later: what an earlier
  /// recorder has left is queued in the present form.
  func choose(for folder: SegmentFolder, uploads: Bool) throws(AudioIngestError) -> AudioDelivery {
    var delivery = try SegmentCatalog(path: folder.path).delivery()
    if let format { delivery.format = format }
    if let rate { delivery.sampleRate = rate.hertz }
    if uploads || rate != nil { try folder.deliver(as: delivery) }
    return delivery
  }
}

/// The value of `edgeblue record --rate`.
enum DeliveryRate: Hashable, Sendable {
  /// The rate of the wearable's codec.
  case codec
  /// The number of samples per second.
  case fixed(Int)

  /// - Returns: `nil` if the text is neither `codec` nor a sample rate in Hz.
  init?(_ text: String) {
    if text == "codec" {
      self = .codec
    } else if let rate = Int(text), AudioDelivery.sampleRates.contains(rate) {
      self = .fixed(rate)
    } else {
      return nil
    }
  }

  /// The number of samples per second; `nil` for that of each segment.
  var hertz: Int? { if case .fixed(let rate) = self { rate } else { nil } }
}
