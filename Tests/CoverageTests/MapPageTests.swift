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

  @Test("What is shown after a move is what one picture of it shows", arguments: [60, 2000])
  func tiles(_ count: Int) async throws {
    let compare = """
      view.x = (Math.round(view.frame.left) + view.frame.width / 2) / view.world;
      view.y = (Math.round(view.frame.top) + view.frame.height / 2) / view.world;
      view.pan(-333, 57);
      do { draw(); } while (document.body.dataset.missing !== "0");
      const pen = view.canvas.getContext("2d");
      const pixels = () => pen.getImageData(0, 0, view.canvas.width, view.canvas.height).data;
      const tiled = pixels();
      const frame = view.frame;
      pen.clearRect(0, 0, frame.width, frame.height);
      drawGrid(pen, frame);
      (document.body.dataset.shows === "lines" ? drawLines : drawCircles)(pen, frame, inside(frame));
      drawScale(pen, frame);
      const whole = pixels();
      // An edge may be a part of a pixel away.
      document.body.dataset.differ = tiled.filter((value, i) => Math.abs(value - whole[i]) > 40).length;
      document.body.dataset.painted = whole.filter(value => value > 0).length;
      """
    let text = try await document(try MapTests.walk(count), compare)
    let differ = try #require(text.firstMatch(of: /data-differ="(\d+)"/).flatMap { Int($0.1) })
    #expect(differ < 100)
    let painted = try #require(text.firstMatch(of: /data-painted="(\d+)"/).flatMap { Int($0.1) })
    #expect(painted > 10_000)
  }

  @Test("A move among many fences draws a part of them at once, and the rest in the frames after it")
  func partly() async throws {
    let move = """
      const seen = view.frame;
      view.zoom(32, xs[500] * seen.world - seen.left, ys[500] * seen.world - seen.top);
      draw();
      view.pan(0, -900);
      draw();
      document.body.dataset.left = document.body.dataset.missing;
      let frames = 0;
      while (document.body.dataset.missing !== "0" && frames < 100) { draw(); frames++; }
      document.body.dataset.frames = frames;
      """
    let fences = try (0..<50_000).map { try MapTests.fence($0 + 1, Double($0 % 1000) * 2) }
    let text = try await document(MapTests.map(fences), move)
    #expect(text.firstMatch(of: /data-left="([1-9]\d*)"/) != nil, "\(text.suffix(300))")
    #expect(text.firstMatch(of: /data-frames="[1-9]\d?"/) != nil, "\(text.suffix(300))")
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
