extension PostgreSQLSchema {
  /// What statements call and PostgreSQL lacks, or does otherwise than SQLite.
  static let functions =
    texts + keys + #"""
      -- Whether a place is in a circle: `Area.contains` in SQL.
      CREATE FUNCTION pipeline_is_near(double precision, double precision, double precision,
        double precision, double precision) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT coalesce(2 * 6371008.8 * asin(least(1, sqrt(
          sin(radians($1 - $3) / 2) ^ 2
            + cos(radians($1)) * cos(radians($3)) * sin(radians($2 - $4) / 2) ^ 2))) <= $5, FALSE)
      $$;

      -- The elements of a list of texts.
      CREATE FUNCTION json_each(text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE AS $$
        SELECT json_array_elements_text($1::json)
      $$;

      -- A text as JSON.
      CREATE FUNCTION json_quote(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT coalesce(to_json($1)::text, 'null')
      $$;

      -- JSON as it is stored, readable: an escaped U+0000, which no text can have, becomes U+FFFD.
      CREATE FUNCTION pipeline_json(text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN strpos($1, '\u0000') = 0 THEN $1::json
          ELSE regexp_replace($1, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::json END
      $$;

      -- A member of an object as JSON, and as text.
      CREATE FUNCTION pipeline_member(text, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT (pipeline_json($1) OPERATOR(pg_catalog.->) $2)::text
      $$;
      CREATE OPERATOR -> (LEFTARG = text, RIGHTARG = text, FUNCTION = pipeline_member);
      CREATE FUNCTION pipeline_member_text(text, text) RETURNS text
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT pipeline_json($1) OPERATOR(pg_catalog.->>) $2
      $$;
      CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = pipeline_member_text);

      """#

  private static let texts = #"""
    CREATE FUNCTION hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT upper(encode($1, 'hex'))
    $$;

    -- Bytes as the text that they are; NULL if they are not UTF-8.
    CREATE FUNCTION pipeline_text(bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN
      RETURN convert_from($1, 'UTF8');
    EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
      RETURN NULL;
    END
    $$;

    -- A pattern of SQLite's GLOB as one of LIKE.
    CREATE FUNCTION pipeline_like(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT regexp_replace(regexp_replace(regexp_replace(
          replace(replace(replace($1, '\', '\\'), '%', '\%'), '_', '\_'),
          '(?<!\[)\*', '%', 'g'), '(?<!\[)\?', '_', 'g'), '\[([*?[])\]', '\1', 'g')
    $$;

    CREATE FUNCTION substr(text, bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT pg_catalog.substr($1, $2::integer)
    $$;
    CREATE FUNCTION substr(text, bigint, bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT pg_catalog.substr($1, $2::integer, $3::integer)
    $$;
    CREATE FUNCTION substr(bytea, bigint, bigint) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT pg_catalog.substr($1, $2::integer, $3::integer)
    $$;

    -- The only format is the one of the catalog's statements.
    CREATE FUNCTION strftime(text, bigint, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN $1 = '%Y-%m-%dT%H:%M:%S' AND $3 = 'unixepoch' THEN
        to_char(timestamp 'epoch' + $2 * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS') END
    $$;

    """#

  private static let keys = #"""
    CREATE FUNCTION pipeline_larger(bytea, bytea) RETURNS bytea
      LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT CASE WHEN $1 > $2 THEN $1 ELSE $2 END
    $$;
    CREATE FUNCTION pipeline_smaller(bytea, bytea) RETURNS bytea
      LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT CASE WHEN $1 < $2 THEN $1 ELSE $2 END
    $$;
    CREATE AGGREGATE max(bytea) (SFUNC = pipeline_larger, STYPE = bytea, SORTOP = >);
    CREATE AGGREGATE min(bytea) (SFUNC = pipeline_smaller, STYPE = bytea, SORTOP = <);

    """#
}
