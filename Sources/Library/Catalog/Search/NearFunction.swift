import CSQLite
import Query
import Records

/// The SQL function that tells whether a place is in a circle on Earth.
///
/// It belongs to connections that search, never to the schema, which any SQLite shell can read.
enum NearFunction {
  static let name = "pipeline_is_near"

  /// Source: sqlite.org/c3ref/create_function.html.
  static func register(on driver: SQLiteDriver) throws(CatalogError) {
    let code = sqlite3_create_function_v2(
      driver.handle, name, 5, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
      { context, _, values in
        func number(_ index: Int) -> Double? {
          guard let value = values?[index], sqlite3_value_type(value) != SQLITE_NULL else {
            return nil
          }
          return sqlite3_value_double(value)
        }
        var isNear = false
        if let latitude = number(2), let longitude = number(3), let radius = number(4) {
          isNear = Area(latitude: latitude, longitude: longitude, radius: radius)
            .contains(number(0), number(1))
        }
        sqlite3_result_int(context, isNear ? 1 : 0)
      }, nil, nil, nil)
    guard code == SQLITE_OK else { throw driver.error(code, during: "creating a function") }
  }
}
