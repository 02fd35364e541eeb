extension JSONObjectScanner {
  /// The one pass: each phase runs over the bytes that belong to it and leaves the index at the first that does not.
  ///
  /// Bytes of an object are copied once, from `start` when the object ends or the piece does.
  mutating func scan(_ piece: UnsafeRawBufferPointer, _ events: inout [Event]) {
    var index = 0
    /// Where the bytes of the current object, or of the current garbage, begin in this piece.
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
        index = skipSpace(piece, from: index)
        guard index < piece.count else { break }
        if piece[index] == .quote || (piece[index] == .closeBrace && !fromGarbage) {
          if fromGarbage {
            if garbage.bytes > 0 { events.append(.refused(garbage)) }
            garbage = Refusal(.notAnObject, bytes: 0)
          }
          phase = .tokens
          depth = 1
        } else {
          dismiss(bytesInPiece: index - start)
          start = index
        }
      case .tokens:
        index = scanTokens(piece, from: index, &start, &events)
      case .string:
        index = skipText(piece, from: index)
        guard index < piece.count else { break }
        switch piece[index] {
        case .quote: phase = .tokens
        case .backslash: phase = .escape
        default:  // a control character
          breakOff(UnsafeRawBufferPointer(rebasing: piece[start..<index]), &events)
          start = index
          continue
        }
        index += 1
      case .escape:
        phase = .string
        index += 1
      }
    }
    keep(piece, from: start, &events)
  }

  /// Runs over tokens up to a string, the end of the object, or a byte no JSON holds.
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
          // The message was cut off in a string, and this is the first key of the next one.
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

  /// The object ends with the given bytes.
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

  /// From this many bytes on an object gets the room for the largest at once. The allocator hands out so large blocks
  /// in fresh pages: growing by doubling touches twice as many of them, which costs more than reading the bytes.
  private static let largeObject = 64 << 10
  /// At most this much, whatever the limit is.
  private static let roomAtOnce = 4 << 20

  /// The piece ends within an object: what came of it is kept, unless that is over the limit.
  private mutating func keep(_ piece: UnsafeRawBufferPointer, from start: Int, _ events: inout [Event]) {
    guard phase != .between, phase != .skipping, !isDiscarding else { return }
    if buffer.count >= Self.largeObject { buffer.reserveCapacity(min(sizeLimit, Self.roomAtOnce)) }
    buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[start...]))
    guard buffer.count > sizeLimit else { return }
    events.append(.refused(Refusal(.tooLarge, buffer[...])))
    buffer = []
    isDiscarding = true
  }

  /// Bytes are missing in the object, or others came between. That is told at once, for somebody may wait for the whole
  /// of it; what follows is garbage.
  private mutating func breakOff(_ tail: UnsafeRawBufferPointer, _ events: inout [Event]) {
    if !isDiscarding { events.append(.refused(Refusal(.malformed, (buffer + tail)[...]))) }
    reset()
    phase = .skipping
  }

  /// What looked like the beginning of an object is garbage.
  private mutating func dismiss(bytesInPiece: Int) {
    let bytes = garbage.bytes + buffer.count + bytesInPiece
    reset()
    garbage.bytes = bytes
    phase = .skipping
  }

  /// The byte `distance`, 1 or 2, before `index`, also when it came in an earlier piece.
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

  /// Runs over the text of a string, eight bytes at a time, up to its quote, a control character, or a backslash whose
  /// second byte is in the next piece.
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
