import Coverage
import FoundationEssentials

/// The stored fences as a page, as the command writes it.
enum Page {
  static func run(_ path: String, to file: String) throws {
    let begin = ContinuousClock.now
    let store = try CoverageStore.copy(of: path)
    let parts = try store.sessions().map { CoverageExport.Part(session: $0, fences: try store.fences(of: $0.id)) }
    let map = CoverageMap(parts)
    try CoverageMapPage.html(map).write(to: URL(filePath: file))
    print((ContinuousClock.now - begin) / .seconds(1), map.spots.count, Usage.peak)
  }
}
