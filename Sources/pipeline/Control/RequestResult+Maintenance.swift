import Ingest
import PipelineModel

extension RequestResult {
  init(_ emptied: TrashEmptied) {
    self.init(members: ["assets": .integer(emptied.assets), "bytes": .integer(emptied.bytes)])
  }

  init(_ undone: UndoResult) {
    self.init(members: [
      "returned": .integer(undone.returned), "left": .integer(undone.left),
      "failed": .integer(undone.failed),
    ])
  }

  init(_ garbage: Garbage) {
    self.init(members: [
      "originals": .integer(garbage.originals), "originalBytes": .integer(garbage.originalBytes),
      "renditions": .integer(garbage.renditions),
      "renditionBytes": .integer(garbage.renditionBytes), "files": .integer(garbage.files),
      "fileBytes": .integer(garbage.fileBytes), "bytes": .integer(garbage.bytes),
    ])
  }

  init(_ repair: RepairResult) {
    self.init(members: [
      "repaired": .integer(repair.repaired), "setAside": .integer(repair.setAside),
    ])
  }
}
