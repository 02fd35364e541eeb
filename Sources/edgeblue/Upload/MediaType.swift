/// The media types of files.
enum MediaType {
  /// Returns the media type for the extension of a file name; `application/octet-stream` if it is unknown.
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
