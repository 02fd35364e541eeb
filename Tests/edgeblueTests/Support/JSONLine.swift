import Foundation

/// Returns a field of a line that a command printed with `--json`, as text; `nil` without that field.
func field(_ name: String, of line: some StringProtocol) -> String? {
  guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else { return nil }
  return object[name].map { "\($0)" }
}
