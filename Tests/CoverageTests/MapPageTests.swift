import Foundation
import SystemTesting
import Testing

@testable import Coverage

private let browser = ["chromium-headless-shell", "chromium"].lazy.compactMap(ChildProcess.path(of:)).first
private let leafletFolder = "/usr/share/javascript/leaflet"

/// The page of a map in a real browser.
@Suite(
  "Pages of maps", .enabled(if: browser != nil, "needs Chromium: scripts/test browser"), .timeLimit(.minutes(5)))
struct MapPageTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var leaflet: CoverageMapPage.Leaflet? {
    guard let script = try? String(contentsOfFile: leafletFolder + "/leaflet.min.js", encoding: .utf8),
      let style = try? String(contentsOfFile: leafletFolder + "/leaflet.css", encoding: .utf8)
    else { return nil }
    return CoverageMapPage.Leaflet(script: script, style: style)
  }

  /// Returns the document that a browser makes of a page.
  /// - Parameter script: What a reader does, after the page is there.
  private func document(_ map: CoverageMap, isOwn: Bool = true, _ script: String = "") async throws -> String {
    let path = folder.path + "/map.html"
    var page = String(decoding: CoverageMapPage.html(map, leaflet: isOwn ? nil : leaflet), as: UTF8.self)
    page = page.replacing("</body>", with: "<script>\(script)</script></body>")
    try Data(page.utf8).write(to: URL(filePath: path))
    let process = try ChildProcess(
      try #require(browser),
      [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,800", "--user-data-dir=\(folder.path)/u",
        "--dump-dom", "file://" + path,
      ], errors: .discarded)
    defer { process.kill() }
    let outcome = try await within(.seconds(120), "a page in Chromium") { await process.outcome() }
    return outcome.output
  }

  @Test("Few fences are circles, many from afar are lines, none are said to be none", arguments: [0, 3, 60, 2000])
  func counts(_ count: Int) async throws {
    let text = try await document(try MapTests.walk(count))
    #expect(text.contains(count < 1 ? "No fence is stored." : "\(count) fences"))
    // 2,000 fences reach 80 km, and 60 of them 2.4 km, which is less than 0.03° of a window's height.
    #expect(text.contains("data-shows=\"\(count == 2000 ? "lines" : "circles")\""))
    #expect(text.contains("data-drawn=\"\(count)\""))
    #expect(text.contains(count == 0 ? "<ul id=\"legend\"></ul>" : "5G/NR"))
  }

  @Test("Leaflet moves the same map, and shows its background only when it is switched on")
  func withLeaflet() async throws {
    try #require(leaflet != nil, "needs Leaflet: libjs-leaflet")
    let text = try await document(try MapTests.walk(2000), isOwn: false)
    #expect(text.contains("data-shows=\"lines\""))
    #expect(text.contains("leaflet-container"))
    #expect(!text.contains("<img"))
    let on = try await document(
      try MapTests.walk(2000), isOwn: false, "document.querySelector('#tiles input').click();")
    #expect(on.contains("https://tile.openstreetmap.org/"))
  }

  @Test("A click on a fence shows its figures, and one beside it hides them") func details() async throws {
    let map = MapTests.map([try MapTests.fence(7, 0, .nr, ping: 12.34)])
    let click = """
      function press(x, y) {
        for (const kind of ["pointerdown", "pointerup"]) {
          mapElement.dispatchEvent(new PointerEvent(kind, { pointerId: 1, clientX: x, clientY: y, bubbles: true }));
        }
      }
      const at_ = view.frame;
      press(xs[0] * at_.world - at_.left, ys[0] * at_.world - at_.top);
      """
    let text = try await document(map, click)
    for part in ["7 of session 1", "5G/NR", "12.34 ms", "1 of 1", "5.0 s", "20 m", "±5 m", "48.000000, 16.000000"] {
      #expect(text.contains(part), "\(part)")
    }
    let away = try await document(map, click + "press(20, 400);")
    #expect(!away.contains("12.34 ms"))
  }

  @Test("The time that a reader chooses hides other fences") func time() async throws {
    let choice = "to.value = 500; to.dispatchEvent(new Event('input', { bubbles: true }));"
    let text = try await document(try MapTests.walk(101), choice)
    #expect(text.contains("51 of 101 fences"))
  }

  @Test("50,000 fences are drawn, and moved") func many() async throws {
    let move = """
      mapElement.dispatchEvent(new PointerEvent("pointerdown", { pointerId: 1, clientX: 400, clientY: 400 }));
      mapElement.dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, clientX: 500, clientY: 420 }));
      draw();
      document.body.dataset.moved = view.frame.left;
      """
    let text = try await document(try MapTests.walk(50_000), move)
    #expect(text.contains("data-drawn=\"50000\""))
    #expect(text.contains("data-moved="))
  }
}
