internal import EdgeCoder
internal import JSONValues

/// The pictures of clients: files in base64, or data URLs.
///
/// Pictures at other URLs are refused: a phone has no network, and a request must not make this host fetch something.
enum RequestImages {
  /// Returns the pictures in `images` of Ollama, which stand before the text.
  /// - Throws: ``APIError`` 400 for anything that is not a picture in base64.
  static func ollama(_ json: JSONValue, at place: String = "images") throws -> [ChatImage] {
    guard let value = json.set("images") else { return [] }
    guard let elements = value.elements else { throw APIError.badRequest("`\(place)` is not a list") }
    return try elements.enumerated().map { index, element in
      try image(element.text ?? "", offset: 0, at: "\(place)[\(index)]")
    }
  }

  /// Returns the picture of an OpenAI client.
  /// - Parameters:
  ///   - url: The URL, of which only `data:image/…;base64,…` is supported.
  ///   - text: The text of the message before it.
  ///   - place: The name of the field, for errors.
  /// - Throws: ``APIError`` 400 for another URL, and for anything that is not a picture.
  static func url(_ url: String?, after text: String, at place: String) throws -> ChatImage {
    guard let url else { throw APIError.badRequest("`\(place)` contains a picture without a URL") }
    guard let comma = url.firstIndex(of: ","), url.hasPrefix("data:"), url[..<comma].hasSuffix(";base64") else {
      throw APIError.badRequest(
        "\(HTTPAPI.modelName) does not support images at a URL (`\(place)`): send `data:image/png;base64,…`")
    }
    return try image(String(url[url.index(after: comma)...]), offset: text.utf8.count, at: place)
  }

  private static func image(_ base64: String, offset: Int, at place: String) throws -> ChatImage {
    guard let image = ChatImage(base64: base64, offset: offset) else {
      throw APIError.badRequest("`\(place)` is not a PNG, JPEG, WebP or GIF in base64")
    }
    return image
  }
}
