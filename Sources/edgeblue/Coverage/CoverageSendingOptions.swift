import ArgumentParser

/// The options for sending sessions to their control server, and then to the queue of uploads.
struct CoverageSendingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("A PEM file with certificates to trust besides the system's.", valueName: "file"),
    completion: .file())
  var ca: String?
  @OptionGroup var uploads: CoverageUploadOptions
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var state: CoverageFolderOptions

  /// Returns the connection to a control server.
  func control(_ address: String, in folder: CoverageFolder, acceptsTerms: Bool) throws -> CoverageControl {
    try folder.control(address, certificates: ca, acceptsTerms: acceptsTerms)
  }
}
