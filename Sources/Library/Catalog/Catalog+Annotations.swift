package import PipelineModel
import Query
package import Records

extension CatalogWriter {
  /// Records what a user says about an asset, in the caller's transaction; does nothing if the asset
  /// is gone, nor for what no version of the program can have said.
  func record(_ annotation: Annotation, of asset: AssetID) throws(CatalogError) {
    // Somebody else wrote that fact; it must not end a replay.
    guard
      let annotation = try? Annotation(
        checking: annotation.text, as: annotation.property, applies: annotation.applies)
    else { return }
    if !annotation.property.isList {
      try connection.execute(
        "DELETE FROM annotation WHERE asset = ? AND property = ?", asset,
        annotation.property.rawValue)
    }
    // No upsert: its way to solve conflicts would override that of triggers (sqlite.org/lang_createtrigger.html).
    let isUpdated =
      try connection.changes(
        "UPDATE annotation SET applies = ?4 WHERE asset = ?1 AND property = ?2 AND text = ?3",
        asset,
        annotation.property.rawValue, annotation.text, annotation.applies) > 0
    if !isUpdated {
      try connection.execute(
        """
        INSERT INTO annotation (asset, property, text, applies)
        SELECT id, ?2, ?3, ?4 FROM asset WHERE id = ?1
        """, asset, annotation.property.rawValue, annotation.text, annotation.applies)
    }
    try outdatePicture(of: asset)
  }
}

extension CatalogReader {
  /// What a user says about an asset, by property and text; `nil` if there is none with this key.
  package func annotations(of id: AssetID) throws(CatalogError) -> [Annotation]? {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT \(AssetQuery.annotations) FROM asset WHERE id = ?", id) {
        (row) throws(CatalogError) in try row.annotations(0)
      }
    }
  }
}

extension CatalogReader {
  /// Whether an asset is in the trash; `nil` if there is none with this key.
  package func isTrashed(_ id: AssetID) throws(CatalogError) -> Bool? {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT trashed_at IS NOT NULL FROM asset WHERE id = ?", id) {
        $0.bool(0)
      }
    }
  }
}

extension AssetQuery {
  /// What a user says about an asset, as `Statement.annotations(_:)` reads it; `NULL` if nothing.
  static let annotations = """
    (SELECT json_group_array(json_array(property, text, iif(applies, 1, 0))) FROM (
        SELECT property, text, applies FROM annotation WHERE asset = asset.id
        ORDER BY property, text)
      HAVING count(*) > 0)
    """
}

extension Statement {
  /// Reads a column of `AssetQuery.annotations`.
  func annotations(_ column: Int) throws(CatalogError) -> [Annotation] {
    (try optionalJSON(column)?.array ?? []).compactMap { entry in
      guard let members = entry.array, members.count == 3,
        let property = members[0].string.flatMap(Annotation.Property.init),
        let text = members[1].string
      else { return nil }
      return Annotation(property, text, applies: members[2].integer == 1)
    }
  }
}
