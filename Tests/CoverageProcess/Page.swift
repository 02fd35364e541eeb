import Coverage
import FoundationEssentials

/// The stored fences as a page, as the command writes it.
enum Page {
  /// - Parameter folder: The folder of Leaflet; `nil` for a page without it.
  static func run(_ path: String, to file: String, leaflet folder: String?) throws {
    let leaflet = try folder.flatMap { try Self.leaflet(in: $0) }
    let begin = ContinuousClock.now
    let store = try CoverageStore.copy(of: path)
    let parts = try store.sessions().map { CoverageExport.Part(session: $0, fences: try store.fences(of: $0.id)) }
    let map = CoverageMap(parts)
    try CoverageMapPage.html(map, leaflet: leaflet).write(to: URL(filePath: file))
    print((ContinuousClock.now - begin) / .seconds(1), map.spots.count, Usage.peak)
  }

  private static func leaflet(in folder: String) throws -> CoverageMapPage.Leaflet? {
    func text(_ name: String) throws -> String {
      String(decoding: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), as: UTF8.self)
    }
    return CoverageMapPage.Leaflet(script: try text("leaflet.min.js"), style: try text("leaflet.css"))
  }
}
