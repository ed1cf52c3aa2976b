import Files
import PipelineModel

extension IngestLibrary {
  /// Whether imports may continue after an error of code `noSpace`: the reserve is free wherever
  /// the library's files are, and there is room for the file that did not fit.
  package func hasRoom() throws(IngestError) -> Bool {
    try shortage(below: reserve + min(wantedRoom, .max - reserve)) == nil
  }

  /// Throws unless the reserve is free wherever the library's files are.
  ///
  /// Below the reserve nothing is imported, even by rename: journal and catalog grow with each
  /// file.
  ///
  /// - Throws: `IngestError` of code `noSpace`.
  /// - Throws: `IngestError` of code `noSpace`.
  func requireRoom() throws(IngestError) {
    guard let (folder, free) = try shortage(below: reserve) else {
      wantedRoom = 0
      return
    }
    throw IngestError(
      .noSpace,
      "Only \(ByteSize(bytes: free)) are free on the file system of “\(folder.printable)”, and "
        + "\(ByteSize(bytes: reserve)) are kept in reserve. \(Self.advice)", path: folder)
  }

  /// The error for a file that would cut into the reserve.
  func noRoom(for path: BytePath, _ candidate: Candidate) throws(IngestError) -> IngestError {
    wantedRoom = candidate.identity.size
    let free = try translating { try folder.fileSystem().freeBytes }
    return IngestError(
      .noSpace,
      "There is no room for “\(path.printable)” (\(ByteSize(bytes: wantedRoom))): "
        + "\(ByteSize(bytes: free)) are free on the file system of “\(layout.root.printable)”, of "
        + "which \(ByteSize(bytes: reserve)) are kept in reserve. \(Self.advice)", path: layout.root
    )
  }

  private static let advice =
    "Nothing more is imported, and the files stay in their sources: make room, or set a smaller "
    + "\"reserve\"."

  /// The first folder whose file system has less free space than this, and its free space.
  private func shortage(below least: Int) throws(IngestError) -> (BytePath, Int)? {
    for folder in folders {
      let free = try translating { try folder.fileSystem().freeBytes }
      if free < least { return (folder.path, free) }
    }
    return nil
  }
}
