/// SQL that makes a catalog in PostgreSQL one of an older version.
package enum FormerSchema {
  package static let version1 = """
    DROP FUNCTION pipeline.ready_new, pipeline.ready_again CASCADE;
    DROP TABLE pipeline.participant, pipeline.rendition_bytes;
    ALTER TABLE pipeline.attempt DROP COLUMN participant;
    UPDATE pipeline.schema_version SET version = 1
    """
}
