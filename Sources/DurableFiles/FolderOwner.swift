import Glibc

/// The owner of a state folder, as whom root works in it.
///
/// A command that root runs must not leave files behind that stop the service whose folder it is.
package enum FolderOwner {
  /// Takes the identity of a folder's owner for the rest of the process, if root runs it.
  ///
  /// It is for programs that leave the creation of files to others, such as a database. A folder of root, or one that does
  /// not exist, changes nothing.
  /// - Throws: ``FileError`` when the kernel refuses.
  package static func assume(_ folder: String) throws(FileError) {
    guard geteuid() == 0, let owner = owner(of: folder), owner.user != 0 else { return }
    // The groups first, because only root may change them.
    guard setgroups(0, nil) == 0, setegid(owner.group) == 0, seteuid(owner.user) == 0 else {
      throw FileError("taking the identity of the owner of \(folder)")
    }
  }

  private static func owner(of folder: String) -> (user: uid_t, group: gid_t)? {
    var status = stat()
    guard stat(folder.isEmpty ? "/" : folder, &status) == 0 else { return nil }
    return (status.st_uid, status.st_gid)
  }
}
