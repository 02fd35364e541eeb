/// Whether the kernel's controller has no hardware behind it, as those of the radio lab.
enum VirtualController {
  static func isVirtual(_ name: String, root: String = "") -> Bool {
    SystemFiles.target(of: "\(root)/sys/class/bluetooth/\(name)")?.contains("/virtual/") ?? false
  }
}
