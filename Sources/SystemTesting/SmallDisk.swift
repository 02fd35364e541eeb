import Foundation

/// A file system in memory of a fixed size, for tests of a full disk; it is unmounted with the object.
///
/// ```swift
/// if SmallDisk.isPossible {
///   let disk = try SmallDisk(megabytes: 1)
///   try disk.fill()
/// }
/// ```
public final class SmallDisk: Sendable {
  /// A Boolean value that says whether this process may mount one; root may, but not in every container.
  public static let isPossible: Bool = {
    do {
      _ = try SmallDisk(megabytes: 1)
      return true
    } catch {
      return false
    }
  }()

  /// The path of the mount point.
  public let path: String

  /// Mounts a file system of the given size.
  /// - Throws: `POSIXError` when the kernel does not permit it.
  public init(megabytes: Int) throws {
    path = NSTemporaryDirectory() + "edgeblue-disk-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
      let number = errno
      rmdir(path)
      throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EPERM)
    }
  }

  /// Changes the size of the file system.
  /// - Throws: `POSIXError`, for example when more is in use.
  public func resize(megabytes: Int) throws {
    guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(megabytes)m") == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPERM)
    }
  }

  /// Makes the file system one that can only be read.
  /// - Throws: `POSIXError`, for example while a file is open for writing.
  public func protect() throws {
    guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPERM)
    }
  }

  /// Writes a file of zeros until there is no room left.
  /// - Returns: The path of that file.
  @discardableResult public func fill() throws -> String {
    let filler = path + "/filler"
    let file = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    let page = [UInt8](repeating: 0, count: 4096)
    while write(file, page, page.count) == page.count {}
    return filler
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
    rmdir(path)
  }
}
