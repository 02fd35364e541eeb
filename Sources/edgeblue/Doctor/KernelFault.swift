/// The versions of Linux that a device can crash.
///
/// From 6.1.192 on, Linux 6.1 frees the data of a connection twice when it ends before the peer has sent anything
/// (measured on Debian's 6.1.192-3; 6.1.190 and 6.12.118 survive): docs/bluez-versions.md.
struct KernelFault {
  /// The kernel's version: that of Debian's package, such as `6.1.192-3`, or the release of another kernel.
  let version: String

  /// Reads the version of the running kernel; `nil` if it cannot be read.
  /// - Parameter root: The root of the file system, which tests replace.
  init?(root: String) {
    // Debian's release, such as 6.1.0-57-amd64, lacks the third number; its package's version is in the text of the build.
    let build = SystemFiles.line(of: "\(root)/proc/sys/kernel/version") ?? ""
    if let package = build.firstMatch(of: /\bDebian (\d\S*)/)?.output.1 {
      version = String(package)
    } else {
      guard let release = SystemFiles.line(of: "\(root)/proc/sys/kernel/osrelease") else { return nil }
      version = release
    }
  }

  /// One warning if the kernel has the fault.
  var findings: [Finding] {
    guard let match = version.prefixMatch(of: /6\.1\.(\d+)/), let patch = Int(match.output.1), patch >= 192 else {
      return []
    }
    return [
      Finding(
        "kernel", .warn,
        "Linux \(version) crashes when a device that this machine connects to ends the connection before it has sent anything",
        fix: "boot Linux 6.1.190 or earlier (Debian 12: apt list -a linux-image-amd64), or 6.12 or later")
    ]
  }
}
