extension String {
  /// Returns the Levenshtein distance to another string, ignoring case.
  func distance(to other: String) -> Int {
    let others = Array(other.lowercased())
    var row = Array(0...others.count)
    for (i, letter) in lowercased().enumerated() {
      var diagonal = row[0]
      var left = i + 1
      row[0] = left
      for (j, another) in others.enumerated() {
        let above = row[j + 1]
        left = Swift.min(diagonal + (letter == another ? 0 : 1), above + 1, left + 1)
        diagonal = above
        row[j + 1] = left
      }
    }
    return row[others.count]
  }
}
