import PipelineModel
import Records

extension GroupMember {
  /// What stands between the kinds in a text.
  static let separator = ", "

  static func kinds(_ text: String) -> [GroupKind] {
    text.split(separator: separator).compactMap { GroupKind(rawValue: String($0)) }
  }

  static func text(of kinds: [GroupKind]) -> String {
    kinds.map(\.rawValue).joined(separator: separator)
  }

  var kindsText: String { Self.text(of: kinds) }
}
