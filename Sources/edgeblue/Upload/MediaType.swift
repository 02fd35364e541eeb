/// What files of some names are.
enum MediaType {
  /// The media type of a file, by the end of its name; that of any bytes when it is not known.
  static func of(_ name: String) -> String {
    switch name.lowercased().split(separator: ".").last.map(String.init) {
    case "wav": "audio/wav"
    case "flac": "audio/flac"
    case "opus", "ogg": "audio/ogg"
    case "json": "application/json"
    case "txt", "log": "text/plain; charset=utf-8"
    case "csv": "text/csv"
    default: "application/octet-stream"
    }
  }
}
