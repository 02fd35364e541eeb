/// Where the files of a folder of recordings are.
///
/// What lies in the folder itself is whole: first the sidecar appears, then the WAV file. What is being written lies in
/// `open`, on the same file system, so that a rename moves it.
struct SegmentPaths {
  let root: String

  var open: String { root + "/open" }
  /// Locked by the recorder that has the folder.
  var lock: String { open + "/lock" }
  /// The number of the next segment.
  var counter: String { open + "/next" }
  /// The devices that were chosen, one a line: the characteristic that sends the audio, and the address.
  var devices: String { open + "/devices" }

  /// What a device had stored and was fetched, until it is segments: a label, the records in a file for each generation,
  /// and a folder where segments are made of them.
  func stored(_ device: String) -> String { "\(open)/\(Self.word(device)).stored" }
  func records(_ device: String, _ generation: Int) -> String { "\(open)/\(Self.word(device)).\(generation).records" }
  func scratch(_ device: String, _ generation: Int) -> String { "\(open)/\(Self.word(device)).\(generation).scratch" }

  func wav(_ name: String) -> String { "\(root)/\(name).wav" }
  func sidecar(_ name: String) -> String { "\(root)/\(name).json" }
  /// Notifications that nobody here can decode.
  func raw(_ name: String) -> String { "\(root)/\(name).raw" }
  /// Empty; there once the segment was delivered.
  func delivered(_ name: String) -> String { "\(root)/\(name).delivered" }

  /// The WAV file in the making: its header is not right yet.
  func part(_ name: String) -> String { "\(open)/\(name).part" }
  /// What the sidecar will say, line by line as it happens.
  func log(_ name: String) -> String { "\(open)/\(name).log" }
  /// The part once more, with the gaps that were noticed late.
  func spread(_ name: String) -> String { "\(open)/\(name).spread" }
  func draft(_ name: String) -> String { "\(open)/\(name).json" }

  /// An address as a part of a file's name.
  static func word(_ address: String) -> String { String(address.map { $0.isLetter || $0.isNumber ? $0 : "-" }) }
}
