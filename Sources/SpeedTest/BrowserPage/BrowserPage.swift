internal import Crypto
internal import FoundationEssentials

/// The page that a server shows at `/`: it measures the path from a browser to the server.
enum BrowserPage {
  /// Returns the response of HTTP with the page.
  /// - Parameter needsKey: `true` if the page must ask for the key that the server shares with its clients.
  static func response(needsKey: Bool) -> String { needsKey ? withKey : open }

  private static let open = response(of: html(needsKey: false))
  private static let withKey = response(of: html(needsKey: true))

  /// The page loads nothing and connects to its own server alone; the hashes admit its own script and style.
  private static func response(of body: String) -> String {
    let fields = [
      "Content-Type: text/html; charset=utf-8", "Content-Length: \(body.utf8.count)",
      "Content-Security-Policy: default-src 'none'; script-src '\(hash(of: script))'; style-src '\(hash(of: style))'; "
        + "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-cache", "Connection: close",
    ]
    return "HTTP/1.1 200 OK\r\n" + fields.joined(separator: "\r\n") + "\r\n\r\n" + body
  }

  private static func hash(of text: String) -> String {
    "sha256-" + Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
  }

  private static func html(needsKey: Bool) -> String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Speed test</title>
    <link rel="icon" href="data:,">
    <style>\(style)</style>
    </head>
    <body>
    <main>
    <h1>Speed test</h1>
    <p>Measures the path between this browser and the server that sent the page.</p>
    <form id="form">
    <label id="keyField"\(needsKey ? "" : " hidden")>Key <input id="key" type="password" autocomplete="off"></label>
    <button id="start">Start</button>
    </form>
    <progress id="bar" max="1" value="0" hidden></progress>
    <p id="state" role="status"></p>
    <table id="table" hidden>
    <tr><th scope="row">Download</th><td id="download"></td></tr>
    <tr><th scope="row">Upload</th><td id="upload"></td></tr>
    <tr><th scope="row">Ping</th><td id="ping"></td></tr>
    </table>
    </main>
    <script>\(script)</script>
    </body>
    </html>

    """
  }

  private static let style = """

    :root { color-scheme: light dark; font: 100%/1.5 system-ui, sans-serif; }
    body { margin: 0; }
    main { max-width: 34rem; margin: 3rem auto; padding: 0 1rem; }
    h1 { font-size: 1.6rem; margin: 0; }
    form { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; }
    button, input { font: inherit; padding: .4rem 1rem; }
    progress { width: 100%; margin-top: 1.5rem; }
    table { border-collapse: collapse; width: 100%; }
    th, td { text-align: left; padding: .5rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
    th { font-weight: normal; width: 8rem; }
    td { font-variant-numeric: tabular-nums; }
    td strong { font-size: 1.4rem; }
    [hidden] { display: none; }

    """
}
