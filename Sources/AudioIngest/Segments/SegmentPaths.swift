/// The paths of the files in a folder of recordings.
///
/// The files in the folder itself are complete: first the sidecar appears, then the WAV file. Files that are being
/// written lie in `open`, on the same file system, so that a rename moves them.
package struct SegmentPaths: Sendable {
  let root: String

  var open: String { root + "/open" }
  /// The file that the folder's recorder locks.
  var lock: String { open + "/lock" }
  /// The number of the next segment.
  var counter: String { open + "/next" }
  /// The file of the chosen devices, one a line: the characteristic that sends the audio, the address, and the protection
  /// of its connections.
  package var devices: String { open + "/devices" }
  /// The format in which segments are delivered.
  var delivery: String { open + "/delivery" }

  /// The label of the records fetched from a device's store, until they become segments. Beside it lie a file of records
  /// for each generation, and a scratch folder for the segments.
  func stored(_ device: String) -> String { "\(open)/\(Self.word(device)).stored" }
  func records(_ device: String, _ generation: Int) -> String { "\(open)/\(Self.word(device)).\(generation).records" }
  func scratch(_ device: String, _ generation: Int) -> String { "\(open)/\(Self.word(device)).\(generation).scratch" }

  func wav(_ name: String) -> String { "\(root)/\(name).wav" }
  func sidecar(_ name: String) -> String { "\(root)/\(name).json" }
  /// The file of notifications that cannot be decoded.
  func raw(_ name: String) -> String { "\(root)/\(name).raw" }
  /// An empty file that exists once the segment was delivered.
  func delivered(_ name: String) -> String { "\(root)/\(name).delivered" }

  /// The WAV file that is being written: its header is not complete.
  func part(_ name: String) -> String { "\(open)/\(name).part" }
  /// The contents of the later sidecar, line by line.
  func log(_ name: String) -> String { "\(open)/\(name).log" }
  /// The part again, with the gaps that were found late.
  func spread(_ name: String) -> String { "\(open)/\(name).spread" }
  func draft(_ name: String) -> String { "\(open)/\(name).json" }

  /// Returns an address as a part of a file name.
  static func word(_ address: String) -> String { String(address.map { $0.isLetter || $0.isNumber ? $0 : "-" }) }
}
