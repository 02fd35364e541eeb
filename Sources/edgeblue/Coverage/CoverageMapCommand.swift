import ArgumentParser
import Coverage
import DurableFiles
import Foundation

/// `edgeblue coverage map`
struct CoverageMapCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "map", abstract: "Draw the stored sessions on a map: a page of HTML, or a picture.",
    discussion: """
      The end of the file's name selects the format. A page (.html) is one file that needs no network: it can be moved and \
      enlarged, a click on a fence shows its figures, and its reader chooses the time. With the package libjs-leaflet, \
      Leaflet is part of it, and the reader can switch on a background from OpenStreetMap, for which alone the page uses \
      the network. A picture is .svg, or .png with `rsvg-convert` (package librsvg2-bin).

      Fences are circles, or lines when 60 or more are seen from afar. A file that exists is replaced only if it is a map \
      of this command.

      EXAMPLES
        edgeblue coverage map walk.html
        edgeblue coverage map walk.png --session 3
      """)

  @Argument(help: "The file to write, .html, .svg or .png.", completion: .file()) var output: String
  @Option(help: ArgumentHelp("The number of a session; without one, all are drawn.", valueName: "n"))
  var session: Int64?
  @Flag(help: "Use the sessions that `edgeblue coverage serve` has received.") var received = false
  @OptionGroup var state: CoverageFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let file = try PictureFile(output, of: .coverage)
      try file.checkIsReplaceable()
      let map = CoverageMap(try state.folder().parts(session, isReceived: received))
      if file.isPage {
        try file.write(page: CoverageMapPage.html(map, leaflet: try Self.leaflet()))
      } else {
        try await file.write(CoveragePicture(map).svg)
      }
      if terminal.json { terminal.print(json: ["path": .string(file.path), "fences": .number(map.spots.count)]) }
      terminal.say("\(file.path.printable) shows \(map.spots.count == 1 ? "1 fence" : "\(map.spots.count) fences")")
    }
  }

  /// The folder of Debian's package libjs-leaflet.
  private static let leafletFolder = "/usr/share/javascript/leaflet"
  private static let leafletLimit = 4 << 20

  /// Returns Leaflet, as Debian ships it; `nil` where it is not installed.
  private static func leaflet() throws -> CoverageMapPage.Leaflet? {
    func text(_ name: String) throws -> String? {
      try Disk().read("\(leafletFolder)/\(name)", limit: leafletLimit, followsLinks: true)
        .map { String(decoding: $0, as: UTF8.self) }
    }
    guard let script = try text("leaflet.min.js") ?? text("leaflet.js"), let style = try text("leaflet.css") else {
      return nil
    }
    return CoverageMapPage.Leaflet(script: script, style: style)
  }
}
