/// Recognizes controllers without hardware, such as those of the radio lab.
enum VirtualController {
  static func isVirtual(_ name: String, root: String = "") -> Bool {
    SystemFiles.target(of: "\(root)/sys/class/bluetooth/\(name)")?.contains("/virtual/") ?? false
  }
}
