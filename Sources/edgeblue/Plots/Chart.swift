import Foundation

/// A rectangle of a picture with two axes, which turns values into coordinates.
struct Chart {
  var left: Double
  var top: Double
  var right: Double
  var bottom: Double
  var xs: ClosedRange<Double>
  /// The largest value of the vertical axis, which begins at 0.
  var highest: Double

  /// The colours of what is drawn in more than one chart.
  enum Colour {
    static let download = "#2e6da4"
    static let upload = "#d9772b"
    static let ping = "#2a9d76"
    static let failure = "#c0392b"
  }

  func x(_ value: Double) -> Double {
    let width = xs.upperBound - xs.lowerBound
    return left + (right - left) * (width > 0 ? (value - xs.lowerBound) / width : 0.5)
  }

  func y(_ value: Double) -> Double { bottom - (bottom - top) * min(max(value / highest, 0), 1) }

  /// The values of the vertical axis that have a line: 0, and up to 5 round ones.
  var marks: [Double] {
    let step = Self.step(highest / 4)
    return stride(from: 0, through: highest * 1.0001, by: step).map(\.self)
  }

  /// Returns the next round number, 1, 2 or 5 times a power of ten; 1 for a number that is not positive.
  static func step(_ value: Double) -> Double {
    guard value > 0, value.isFinite else { return 1 }
    let power = pow(10, log10(value).rounded(.down))
    return [1, 2, 5, 10].map { $0 * power }.first { $0 >= value * 0.9999 } ?? 10 * power
  }

  /// Returns a round end of an axis for the largest value.
  static func end(_ largest: Double) -> Double {
    let step = step(largest / 4)
    return max((largest / step).rounded(.up) * step, step)
  }

  // MARK: Parts

  /// The background and the lines of the vertical axis with their labels.
  func grid(_ title: String, _ label: (Double) -> String) -> [String] {
    [
      """
      <rect x="\(SVG.n(left))" y="\(SVG.n(top))" width="\(SVG.n(right - left))" height="\(SVG.n(bottom - top))" fill="#f8fafb"/>
      <text class="axis" x="\(SVG.n(left))" y="\(SVG.n(top - 10))">\(SVG.escaped(title))</text>
      """
    ]
      + marks.map { value in
        """
        <path d="M\(SVG.n(left)) \(SVG.n(y(value)))H\(SVG.n(right))" stroke="\(value == 0 ? "#aab4bd" : "#e1e5e9")"/>\
        <text class="tick" x="\(SVG.n(left - 8))" y="\(SVG.n(y(value) + 4))" text-anchor="end">\(SVG.escaped(label(value)))</text>
        """
      }
  }

  /// A label below the horizontal axis.
  func label(_ text: String, at value: Double) -> String {
    let x = x(value)
    let anchor = x > right - 30 ? "end" : x < left + 30 ? "start" : "middle"
    return """
      <path d="M\(SVG.n(x)) \(SVG.n(bottom))v5" stroke="#aab4bd"/>\
      <text class="tick" x="\(SVG.n(x))" y="\(SVG.n(bottom + 20))" text-anchor="\(anchor)">\(SVG.escaped(text))</text>
      """
  }

  /// A line through points.
  func line(_ points: [(x: Double, y: Double)], _ colour: String, width: Double, opacity: Double = 1) -> String {
    guard points.count > 1 else { return "" }
    let path = points.map { "\(SVG.n(x($0.x))) \(SVG.n(y($0.y)))" }.joined(separator: "L")
    return """
      <path d="M\(path)" fill="none" stroke="\(colour)" stroke-width="\(SVG.n(width))" stroke-opacity="\(opacity)" \
      stroke-linejoin="round"/>
      """
  }

  /// A dot for each point.
  func dots(_ points: [(x: Double, y: Double)], _ colour: String, radius: Double) -> String {
    points.map { point in
      "<circle cx=\"\(SVG.n(x(point.x)))\" cy=\"\(SVG.n(y(point.y)))\" r=\"\(SVG.n(radius))\" fill=\"\(colour)\"/>"
    }.joined()
  }
}

/// The text of SVG documents.
enum SVG {
  /// Returns a coordinate rounded to tenths.
  static func n(_ value: Double) -> String { SegmentPicture.n(value) }

  static func escaped(_ text: String) -> String {
    text.printable.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }

  /// A document with a title, which `PictureFile` knows it by.
  static func document(width: Double, height: Double, title: String, facts: String, _ parts: [String]) -> String {
    ([
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(n(width)) \(n(height))" width="\(n(width))" height="\(n(height))" \
      role="img">
      <title>\(escaped(title))</title>
      <desc>\(escaped(facts))</desc>
      <style>
      text { font-family: "Inter", "Noto Sans", "DejaVu Sans", system-ui, sans-serif; font-size: 12px; fill: #566573; }
      .name { font-size: 21px; font-weight: 600; fill: #1b2631; }
      .facts { font-size: 13px; }
      .axis { font-size: 13px; font-weight: 600; fill: #34495e; }
      .tick { font-size: 12px; fill: #34495e; }
      </style>
      <rect width="100%" height="100%" fill="#ffffff"/>
      <text class="name" x="72" y="36">\(escaped(title))</text>
      <text class="facts" x="72" y="60">\(escaped(facts))</text>
      """
    ] + parts.filter { !$0.isEmpty } + ["</svg>", ""]).joined(separator: "\n")
  }

  /// Coloured names in a row, from the left.
  static func legend(_ items: [(colour: String, text: String)], x start: Double, y: Double) -> [String] {
    var x = start
    return items.map { item in
      defer { x += 42 + Double(item.text.count) * 6.8 }
      return """
        <rect x="\(n(x))" y="\(n(y - 9))" width="16" height="4" rx="2" fill="\(item.colour)"/>\
        <text x="\(n(x + 22))" y="\(n(y))">\(escaped(item.text))</text>
        """
    }
  }
}
