import AudioIngestTesting
import Foundation
import Testing

@testable import edgeblue

@Suite("The pages of the program's code") struct CodePagesTests {
  private static let maps = """
    55d0c0000000-55d0c02f9000 r--p 00000000 fe:01 1234                       /usr/bin/edge blue
    55d0c02f9000-55d0c2395000 r-xp 002f8000 fe:01 1234                       /usr/bin/edge blue
    55d0c2395000-55d0c2b18000 rw-p 02393000 fe:01 1234                       /usr/bin/edge blue
    55d0c3000000-55d0c3100000 rw-p 00000000 00:00 0                          [heap]
    7f0000000000-7f0000100000 r-xp 00000000 fe:01 99                         /usr/lib/libc.so.6
    7f0000200000-7f0000300000 r-xp 00000000 00:00 0
    no line
    """

  @Test("Only the executable pages of the program are released") func ranges() {
    #expect(CodePages.ranges(of: "/usr/bin/edge blue", in: Self.maps) == [0x55d0_c02f_9000..<0x55d0_c239_5000])
    #expect(CodePages.ranges(of: "/usr/bin/other", in: Self.maps).isEmpty)
    #expect(CodePages.ranges(of: "/usr/bin/edge blue", in: "2-1 r-xp 0 0 0 /usr/bin/edge blue").isEmpty)
    #expect(CodePages.ranges(of: "", in: "").isEmpty)
  }

  @Test("Released pages are no longer mapped, and come back with the same bytes") func release() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/code"
    let size = 64 * 4096
    try Data(repeating: 0xc3, count: size).write(to: URL(filePath: path))
    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    let code = try #require(mmap(nil, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0))
    try #require(code != MAP_FAILED)
    defer { munmap(code, size) }
    let bytes = UnsafeRawBufferPointer(start: code, count: size)
    #expect(bytes.allSatisfy { $0 == 0xc3 })
    #expect(try Self.mapped(at: code, pages: 64) == 64)
    CodePages.release(path)
    #expect(try Self.mapped(at: code, pages: 64) == 0)
    #expect(bytes.allSatisfy { $0 == 0xc3 })
  }

  /// Counts the pages that are mapped: bit 63 of a page's entry, as the kernel's documentation of pagemap says.
  private static func mapped(at address: UnsafeMutableRawPointer, pages: Int) throws -> Int {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/pagemap"))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(UInt(bitPattern: address) / 4096 * 8))
    let entries = try #require(try file.read(upToCount: pages * 8))
    #expect(entries.count == pages * 8)
    return stride(from: 7, to: entries.count, by: 8).count { entries[entries.startIndex + $0] & 0x80 != 0 }
  }
}
