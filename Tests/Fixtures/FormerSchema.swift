/// SQL that makes a catalog in PostgreSQL one of an older version.
package enum FormerSchema {
  package static let version1 =
    version2 + """
      DROP FUNCTION pipeline.ready_new, pipeline.ready_again CASCADE;
      DROP TABLE pipeline.participant, pipeline.rendition_bytes;
      ALTER TABLE pipeline.attempt DROP COLUMN participant;
      UPDATE pipeline.schema_version SET version = 1;

      """

  package static let version4 = """
    DROP TABLE pipeline.manifest_tail;
    UPDATE pipeline.schema_version SET version = 4;

    """

  package static let version3 = """
    DROP TABLE pipeline.manifest_tail;
    ALTER TABLE pipeline.sighting DROP COLUMN run;
    UPDATE pipeline.schema_version SET version = 3;

    """

  /// With a trigger that no later version has, and one that does something else.
  package static let version2 = """
    ALTER TABLE pipeline.sighting DROP COLUMN run;
    DROP TABLE pipeline.request, pipeline.held_source, pipeline.manifest_tail;
    ALTER TABLE pipeline.participant DROP COLUMN held;
    CREATE FUNCTION pipeline.former() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'a former trigger'; END $$;
    CREATE TRIGGER former AFTER INSERT ON pipeline.asset FOR EACH ROW EXECUTE FUNCTION pipeline.former();
    CREATE OR REPLACE FUNCTION pipeline.picture_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'a former function'; END $$;
    UPDATE pipeline.schema_version SET version = 2;

    """
}
