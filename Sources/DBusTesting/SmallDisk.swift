import Foundation

/// A disk in memory that can be really full; it goes with this object.
public final class SmallDisk: Sendable {
  /// Whether this process may have one: root may, and not in every container.
  public static let isPossible: Bool = {
    do {
      _ = try SmallDisk(megabytes: 1)
      return true
    } catch {
      return false
    }
  }()

  /// Where it is.
  public let path: String

  /// Makes one.
  /// - Throws: `POSIXError` when that is not permitted.
  public init(megabytes: Int) throws {
    path = NSTemporaryDirectory() + "edgeblue-disk-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
      let number = errno
      rmdir(path)
      throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EPERM)
    }
  }

  /// Gives it another size.
  public func resize(megabytes: Int) throws {
    guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(megabytes)m") == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPERM)
    }
  }

  /// Writes a file of zeros until there is no room left.
  /// - Returns: where the file is.
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
