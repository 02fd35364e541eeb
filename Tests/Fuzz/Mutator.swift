import DeterministicTesting
import Foundation

/// Changes inputs at random, where there is no libFuzzer.
struct Mutator {
  var random: SeededGenerator
  private static let longest = 4096

  mutating func input(of corpus: [[UInt8]]) -> [UInt8] {
    var bytes = corpus.randomElement(using: &random) ?? []
    for _ in 0..<Int.random(in: 1...6, using: &random) { change(&bytes, corpus) }
    return Array(bytes.prefix(Self.longest))
  }

  private mutating func change(_ bytes: inout [UInt8], _ corpus: [[UInt8]]) {
    let place = Int.random(in: 0...bytes.count, using: &random)
    switch Int.random(in: 0..<7, using: &random) {
    case 0: bytes.removeSubrange(place...)
    case 1: bytes.insert(contentsOf: (0..<Int.random(in: 1...8, using: &random)).map { _ in any() }, at: place)
    case 2: bytes.insert(contentsOf: (corpus.randomElement(using: &random) ?? []).suffix(64), at: place)
    case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...16, using: &random)))
    case 4 where place < bytes.count: bytes[place] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
    case 5 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
    default: if place < bytes.count { bytes[place] = any() }
    }
  }

  private mutating func any() -> UInt8 { .random(in: 0...255, using: &random) }
}

/// A mapped file with the last input, which outlives the process.
final class LastInput {
  private static let size = 1 << 16
  private let path: String
  private let memory: UnsafeMutableRawPointer

  init(_ path: String) throws {
    self.path = path
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    defer { close(descriptor) }
    guard descriptor >= 0, ftruncate(descriptor, off_t(Self.size)) == 0,
      let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
    else { throw POSIXError(.EIO) }
    self.memory = memory
  }

  /// Keeps the length, in four bytes, and the bytes.
  func keep(_ bytes: [UInt8]) {
    let kept = bytes.prefix(Self.size - 4)
    memory.storeBytes(of: UInt32(kept.count), as: UInt32.self)
    kept.withUnsafeBytes {
      (memory + 4).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: kept.count)
    }
  }

  func remove() { unlink(path) }
}
