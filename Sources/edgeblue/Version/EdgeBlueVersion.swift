/// The version of EdgeBlue: of the command, the Debian package and its software bill of materials.
///
/// This is the only place where the version is written. `edgeblue --version` prints it, and `scripts/deb` reads it from
/// there. `docs/releasing.md` lists the steps of a release, `docs/api-policy.md` says which part of the version changes.
enum EdgeBlueVersion {
  /// The current version in the form MAJOR.MINOR.PATCH of Semantic Versioning 2.0.0.
  static let current = "0.2.0"
}
