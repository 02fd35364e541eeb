import FoundationEssentials

/// A picture in a message of a conversation, for models that can see.
///
/// ```swift
/// let png = try Data(contentsOf: URL(filePath: "door.png"))
/// var message = ChatMessage(.user, "Is the door open?")
/// if let image = ChatImage(Array(png)) { message.images = [image] }
/// ```
public struct ChatImage: Sendable, Hashable {
  /// The format of a picture. The cases are those that Ollama and OpenAI have in common, and GIF of OpenAI.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// A picture as PNG, without losses.
    case png
    /// A picture as JPEG, as cameras write it.
    case jpeg
    /// A picture as WebP, with or without losses.
    case webp
    /// The Graphics Interchange Format; models look at its first picture.
    case gif

    /// The media type, for example `image/png`.
    public var mediaType: String { "image/\(rawValue)" }

    /// Returns the format of a file by its first bytes, which clients name wrongly or not at all; `nil` for another one.
    init?(_ bytes: [UInt8]) {
      func starts(_ text: String, at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
      if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
        self = .png
      } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
        self = .jpeg
      } else if starts("RIFF"), starts("WEBP", at: 8) {
        self = .webp
      } else if starts("GIF87a") || starts("GIF89a") {
        self = .gif
      } else {
        return nil
      }
    }
  }

  /// The bytes of the file, as they are sent.
  public let bytes: [UInt8]
  /// The format of the file, by its first bytes.
  public let format: Format
  /// The place of the picture in the text of its message, in UTF-8 bytes of the text before it. Default: 0, before all.
  public var offset: Int

  /// Creates a picture from a file; `nil` if its first bytes are those of no format in ``Format``.
  public init?(_ bytes: [UInt8], offset: Int = 0) {
    guard let format = Format(bytes) else { return nil }
    self.bytes = bytes
    self.format = format
    self.offset = offset
  }

  /// Creates a picture from a file in base64.
  package init?(base64: String, offset: Int = 0) {
    guard let data = Data(base64Encoded: base64) else { return nil }
    self.init(Array(data), offset: offset)
  }

  /// The file in base64.
  package var base64: String { Data(bytes).base64EncodedString() }
}

extension ChatMessage {
  /// A piece of the content of a message.
  package enum Piece: Sendable, Hashable {
    /// A part of the text that is not empty.
    case text(String)
    /// A picture.
    case image(ChatImage)
  }

  /// The text and the pictures in their order; an offset within a character counts as that of the character.
  package var pieces: [Piece] {
    let text = Array(content.utf8)
    func place(_ image: ChatImage) -> Int {
      var offset = min(max(image.offset, 0), text.count)
      while offset < text.count, text[offset] & 0xC0 == 0x80 { offset -= 1 }
      return offset
    }
    var pieces: [Piece] = []
    var start = 0
    func add(until end: Int) {
      if start < end { pieces.append(.text(String(decoding: text[start..<end], as: UTF8.self))) }
      start = max(start, end)
    }
    // Those in one place keep their order.
    for (_, image) in images.enumerated().sorted(by: { (place($0.element), $0.offset) < (place($1.element), $1.offset) }
    ) {
      add(until: place(image))
      pieces.append(.image(image))
    }
    add(until: text.count)
    return pieces
  }
}
