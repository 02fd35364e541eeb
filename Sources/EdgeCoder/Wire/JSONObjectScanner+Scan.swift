internal import JSONValues

extension JSONObjectScanner {
  /// Makes the one pass: each phase consumes its bytes and leaves the index at the first byte of the next phase.
  ///
  /// The bytes of an object are copied once, from `start`, at the end of the object or of the chunk.
  mutating func scan(_ piece: UnsafeRawBufferPointer, _ events: inout [Event]) {
    var index = 0
    /// The index at which the current object, or the current run of discarded bytes, starts in this chunk.
    var start = 0
    while index < piece.count {
      switch phase {
      case .between:
        index = skipSpace(piece, from: index)
        guard index < piece.count else { return }
        start = index
        if piece[index] == .openBrace {
          phase = .opened(fromGarbage: false)
          index += 1
        } else {
          phase = .skipping
        }
      case .skipping:
        while index < piece.count, piece[index] != .openBrace { index += 1 }
        garbage.bytes += index - start
        start = index
        guard index < piece.count else { return }
        phase = .opened(fromGarbage: true)
        index += 1
      case .opened(let fromGarbage):
        index = scanOpening(piece, from: index, fromGarbage: fromGarbage, &start, &events)
      case .tokens:
        index = scanTokens(piece, from: index, &start, &events)
      case .string:
        index = scanString(piece, from: index, &start, &events)
      case .escape:
        phase = .string
        index += 1
      }
    }
    keep(piece, from: start, &events)
  }

  /// Consumes white space after a `{` and decides whether an object starts there.
  private mutating func scanOpening(
    _ piece: UnsafeRawBufferPointer, from first: Int, fromGarbage: Bool, _ start: inout Int, _ events: inout [Event]
  ) -> Int {
    let index = skipSpace(piece, from: first)
    guard index < piece.count else { return index }
    guard piece[index] == .quote || (piece[index] == .closeBrace && !fromGarbage) else {
      dismiss(bytesInPiece: index - start)
      start = index
      return index
    }
    if fromGarbage {
      if garbage.bytes > 0 { events.append(.refused(garbage)) }
      garbage = Refusal(.notAnObject, bytes: 0)
    }
    phase = .tokens
    depth = 1
    return index
  }

  /// Consumes the text of a string up to its quote, a backslash at the end of the chunk, or a control character.
  private mutating func scanString(
    _ piece: UnsafeRawBufferPointer, from first: Int, _ start: inout Int, _ events: inout [Event]
  ) -> Int {
    let index = skipText(piece, from: first)
    guard index < piece.count else { return index }
    switch piece[index] {
    case .quote: phase = .tokens
    case .backslash: phase = .escape
    default:  // a control character
      breakOff(UnsafeRawBufferPointer(rebasing: piece[start..<index]), &events)
      start = index
      return index
    }
    return index + 1
  }

  /// Consumes tokens up to a string, the end of the object, or a byte that no JSON token contains.
  private mutating func scanTokens(
    _ piece: UnsafeRawBufferPointer, from first: Int, _ start: inout Int, _ events: inout [Event]
  ) -> Int {
    var index = first
    while index < piece.count {
      switch piece[index] {
      case .quote:
        phase = .string
        return index + 1
      case .openBrace:
        depth += 1
      case .closeBrace:
        depth -= 1
        if depth == 0 {
          finish(UnsafeRawBufferPointer(rebasing: piece[start...index]), &events)
          start = index + 1
          return index + 1
        }
      case 0x20, 0x0a, 0x0d, 0x09, .comma, UInt8(ascii: ":"), .openBracket, .closeBracket,
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
        UInt8(ascii: "E"), UInt8(ascii: "a"), UInt8(ascii: "e"), UInt8(ascii: "f"), UInt8(ascii: "l"),
        UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "u"):
        break
      default:
        if byte(piece, before: index, 1) == .quote, byte(piece, before: index, 2) == .openBrace {
          // The message was truncated within a string, and this is the first key of the next one.
          if !isDiscarding {
            let tail = UnsafeRawBufferPointer(rebasing: piece[start..<index])
            events.append(.refused(Refusal(.malformed, (buffer + tail).dropLast(2))))
          }
          buffer = [.openBrace, .quote]
          isDiscarding = false
          depth = 1
          phase = .string
        } else {
          breakOff(UnsafeRawBufferPointer(rebasing: piece[start..<index]), &events)
        }
        start = index
        return index
      }
      index += 1
    }
    return index
  }

  /// Completes the current object with the given bytes.
  private mutating func finish(_ tail: UnsafeRawBufferPointer, _ events: inout [Event]) {
    if !isDiscarding {
      buffer.append(contentsOf: tail)
      if buffer.count > sizeLimit {
        events.append(.refused(Refusal(.tooLarge, buffer[...])))
      } else {
        events.append(.object(buffer))
      }
    }
    reset()
  }

  /// The size from which the buffer of an object is enlarged to the limit at once.
  ///
  /// The allocator maps blocks of this size in fresh pages: growth by doubling touches twice as many of them, which costs
  /// more than scanning the bytes.
  private static let largeObject = 64 << 10
  /// The largest buffer that is reserved at once.
  private static let roomAtOnce = 4 << 20

  /// Stores the bytes of an incomplete object at the end of a chunk, unless they exceed the limit.
  private mutating func keep(_ piece: UnsafeRawBufferPointer, from start: Int, _ events: inout [Event]) {
    guard phase != .between, phase != .skipping, !isDiscarding else { return }
    if buffer.count >= Self.largeObject { buffer.reserveCapacity(min(sizeLimit, Self.roomAtOnce)) }
    buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[start...]))
    guard buffer.count > sizeLimit else { return }
    events.append(.refused(Refusal(.tooLarge, buffer[...])))
    buffer = []
    isDiscarding = true
  }

  /// Refuses the current object because of malformed bytes, and discards what follows.
  ///
  /// The refusal is reported at once, because a caller may wait for the object.
  private mutating func breakOff(_ tail: UnsafeRawBufferPointer, _ events: inout [Event]) {
    if !isDiscarding { events.append(.refused(Refusal(.malformed, (buffer + tail)[...]))) }
    reset()
    phase = .skipping
  }

  /// Discards bytes that looked like the start of an object.
  private mutating func dismiss(bytesInPiece: Int) {
    let bytes = garbage.bytes + buffer.count + bytesInPiece
    reset()
    garbage.bytes = bytes
    phase = .skipping
  }

  /// Returns the byte `distance`, 1 or 2, before `index`, also from an earlier chunk.
  private func byte(_ piece: UnsafeRawBufferPointer, before index: Int, _ distance: Int) -> UInt8 {
    if index >= distance { return piece[index - distance] }
    return distance - index == 1 ? previousBytes.last : previousBytes.lastButOne
  }

  private func skipSpace(_ piece: UnsafeRawBufferPointer, from first: Int) -> Int {
    var index = first
    while index < piece.count {
      switch piece[index] {
      case 0x20, 0x0a, 0x0d, 0x09: index += 1
      default: return index
      }
    }
    return index
  }

  /// Skips the text of a string, eight bytes at a time, up to its quote, a control character, or a backslash whose second
  /// byte is in the next chunk.
  private func skipText(_ piece: UnsafeRawBufferPointer, from first: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var index = first
    while true {
      while index + 8 <= piece.count {
        let word = UInt64(littleEndian: piece.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        let quotes = word ^ (ones &* UInt64(UInt8.quote))
        let backslashes = word ^ (ones &* UInt64(UInt8.backslash))
        // The lowest high bit set marks the first byte that is zero in the first two, or below 0x20 (Mycroft's test;
        // a borrow can set bits above it, never below).
        let found =
          (((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes) | ((word &- ones &* 0x20) & ~word))
          & highs
        if found != 0 {
          index += found.trailingZeroBitCount >> 3
          break
        }
        index += 8
      }
      while index < piece.count, piece[index] != .quote, piece[index] != .backslash, piece[index] >= 0x20 { index += 1 }
      guard index + 1 < piece.count, piece[index] == .backslash else { return index }
      index += 2
    }
  }
}
