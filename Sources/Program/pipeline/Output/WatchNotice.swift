import Ingest
import LibrarySession
import PipelineModel

/// A notice of `watch` about a source, as a sentence and as members of an event.
struct WatchNotice {
  let text: String
  let members: [String: JSONValue]

  init(_ event: WatchEvent) {
    switch event {
    case .watched(let source, let folders):
      text = "“\(source.printable)” is watched: \(counted(folders, "folder"))."
      members = Self.members(source, "watched", ["folders": .integer(folders)])
    case .polled(let source, let reason):
      let why = Self.sentence(source, reason)
      text = "\(why) Until then it is scanned every few seconds."
      members = Self.members(source, "polled", ["reason": .string(why)])
    case .away(let source, let reason):
      text = "\(reason) `watch` looks for it every second."
      members = Self.members(source, "away", ["reason": .string(reason)])
    case .returned(let source):
      text = "“\(source.printable)” is back; it is scanned and watched again."
      members = Self.members(source, "returned", [:])
    case .overflowed(let source, let times):
      text =
        "More happened in “\(source.printable)” than the kernel queues; it is scanned, so that "
        + "nothing is missed. If this happens often, raise fs.inotify.max_queued_events."
      members = Self.members(source, "overflowed", ["times": .integer(times)])
    case .crowded(let source):
      text = "More changed in “\(source.printable)” than `watch` keeps track of; it is scanned."
      members = Self.members(source, "crowded", [:])
    case .full(let reason):
      text = "\(reason) The free space is checked every few seconds."
      members = ["state": "full", "reason": .string(reason)]
    case .hasRoom:
      text = "There is room in the library again; all sources are scanned."
      members = ["state": "hasRoom"]
    case .storeAway(let reason):
      text = "\(reason) It is tried again every few seconds."
      members = ["state": "storeAway", "reason": .string(reason)]
    case .storeBack:
      text = "What imports waited for is there again; all sources are scanned."
      members = ["state": "storeBack"]
    case .rescanned(let source, let seconds, let isSpecial):
      let rounded = (seconds * 1000).rounded() / 1000
      text = "“\(source.printable)” was scanned in \(rounded) s."
      members = Self.members(
        source, "rescanned", ["seconds": .number(rounded), "regular": .bool(!isSpecial)])
    }
  }

  private static func sentence(_ source: BytePath, _ reason: WatchEvent.PollingReason) -> String {
    switch reason {
    case .silent(let name):
      "“\(source.printable)” is on \(name), which does not report changes made by others. Use "
        + "a folder on a local disk to have them noticed at once."
    case .watchLimit: limit(source, "watch all its folders", "fs.inotify.max_user_watches")
    case .watcherLimit: limit(source, "have another watcher", "fs.inotify.max_user_instances")
    case .failed(let sentence): "“\(source.printable)” can't be watched: \(sentence)"
    }
  }

  private static func limit(_ source: BytePath, _ what: String, _ name: String) -> String {
    "“\(source.printable)” can't be watched: the kernel does not let this user \(what). Raise "
      + "\(name) (`sysctl -w \(name)=…`, and a line in /etc/sysctl.d to keep it) and start again."
  }

  private static func members(
    _ source: BytePath, _ state: String, _ more: [String: JSONValue]
  ) -> [String: JSONValue] {
    var members = more
    members["state"] = .string(state)
    members.merge(JSONMembers.path(source, key: "source")) { $1 }
    return members
  }
}
