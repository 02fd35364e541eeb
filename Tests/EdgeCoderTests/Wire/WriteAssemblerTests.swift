import DeterministicTesting
import Testing

@testable import EdgeCoder

@Suite("The assembly of long writes") struct WriteAssemblerTests {
  private let value = (0..<100).map { UInt8($0) }

  @Test("Plain writes pass as they come") func plainWritesPassAsTheyCome() {
    var assembler = WriteAssembler()
    #expect(assembler.receive([1, 2]) == .bytes([1, 2]))
    #expect(assembler.receive([3]) == .bytes([3]))
    #expect(assembler.receive([]) == .bytes([]))
  }

  @Test("Adjoining fragments continue the value") func adjoiningFragmentsContinueTheValue() {
    var assembler = WriteAssembler()
    #expect(assembler.receive(Array(value[0..<18])) == .bytes(Array(value[0..<18])))
    #expect(assembler.receive(Array(value[18..<36]), offset: 18) == .bytes(Array(value[18..<36])))
    #expect(assembler.receive(Array(value[36..<40]), offset: 36) == .bytes(Array(value[36..<40])))
  }

  @Test("A repeated fragment is passed on once") func aRepeatedFragmentIsPassedOnOnce() {
    var assembler = WriteAssembler()
    _ = assembler.receive(Array(value[0..<20]))
    #expect(assembler.receive(Array(value[10..<20]), offset: 10) == .bytes([]))
    #expect(assembler.receive(Array(value[10..<30]), offset: 10) == .bytes(Array(value[20..<30])))
  }

  @Test("Fragments in any order make the value") func fragmentsInAnyOrderMakeTheValue() {
    for seed in 0..<100 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var pieces: [(offset: Int, bytes: [UInt8])] = []
      for piece in value.randomPieces(longest: 17, using: &generator) {
        pieces.append((pieces.last.map { $0.offset + $0.bytes.count } ?? 0, piece))
      }
      let first = pieces.removeFirst()
      pieces.shuffle(using: &generator)
      var assembler = WriteAssembler()
      var stream: [UInt8] = []
      for (offset, bytes) in [first] + pieces {
        guard case .bytes(let output) = assembler.receive(bytes, offset: offset) else {
          Issue.record("refused at \(offset), seed \(seed)")
          return
        }
        stream += output
      }
      #expect(stream == value, "seed \(seed)")
      #expect(assembler.droppedBytes == 0)
    }
  }

  @Test("A new value drops fragments behind a gap") func aNewValueDropsWhatWaitedForAGap() {
    var assembler = WriteAssembler()
    _ = assembler.receive([1, 2])
    #expect(assembler.receive([9, 9, 9], offset: 5) == .bytes([]))
    #expect(assembler.receive([3]) == .bytes([3]))
    #expect(assembler.droppedBytes == 3)
    #expect(assembler.receive([4], offset: 1) == .bytes([4]), "offsets count from the new value")
  }

  @Test(
    "A fragment behind the longest value is refused",
    arguments: [(513, 0), (512, 1), (500, 13), (-1, 1), (Int.max, 1), (1, Int.max)])
  func aFragmentBehindTheLongestValueIsRefused(offset: Int, length: Int) {
    var assembler = WriteAssembler()
    let bytes = [UInt8](repeating: 1, count: min(length, 600))
    #expect(assembler.receive(bytes, offset: offset) == .refused)
  }

  @Test("A reset starts a new value") func resetBeginsANewValue() {
    var assembler = WriteAssembler()
    _ = assembler.receive([1, 2, 3])
    assembler.reset()
    #expect(assembler.receive([4], offset: 3) == .bytes([]), "nothing of this value has come yet")
  }
}
