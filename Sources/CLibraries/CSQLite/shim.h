#include <sqlite3.h>

/* sqlite3_db_config() is variadic, which Swift cannot call. */
static inline int pipeline_sqlite_configure(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}

/* sqlite3_config() is variadic. It has no effect once SQLite has begun to work. */
static inline int pipeline_sqlite_keep_no_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import. */
static inline int pipeline_sqlite_bind_blob(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int pipeline_sqlite_bind_text(
    sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
