-- The functions that the statements use as SQLite has them, for PostgreSQL.
-- Bodies name `pg_catalog`, because this schema is searched first.

CREATE FUNCTION max(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest($1, $2)';
CREATE FUNCTION min(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT least($1, $2)';
CREATE FUNCTION max(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest($1, $2)';

-- A sum of integers stays an integer, and one that has no room is an error.
CREATE AGGREGATE sum(bigint) (SFUNC = pg_catalog.int8pl, STYPE = bigint);

CREATE FUNCTION add_truth(bigint, boolean) RETURNS bigint LANGUAGE sql IMMUTABLE
    AS 'SELECT CASE WHEN $2 IS NULL THEN $1 ELSE coalesce($1, 0) + $2::integer END';
CREATE AGGREGATE sum(boolean) (SFUNC = add_truth, STYPE = bigint);
CREATE AGGREGATE max(boolean) (SFUNC = pg_catalog.boolor_statefunc, STYPE = boolean);

-- `total` is a real number, and 0 of nothing.
CREATE FUNCTION add_total(double precision, bigint) RETURNS double precision LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 + coalesce($2, 0)';
CREATE FUNCTION add_total(double precision, boolean) RETURNS double precision LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 + coalesce($2, false)::integer';
CREATE FUNCTION add_total(double precision, text) RETURNS double precision LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 + coalesce($2::double precision, 0)';
CREATE AGGREGATE total(bigint) (SFUNC = add_total, STYPE = double precision, INITCOND = '0');
CREATE AGGREGATE total(boolean) (SFUNC = add_total, STYPE = double precision, INITCOND = '0');
CREATE AGGREGATE total(text) (SFUNC = add_total, STYPE = double precision, INITCOND = '0');

CREATE FUNCTION json_list(bigint[]) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT array_to_json($1)::text';
CREATE FUNCTION json_list(text[]) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT array_to_json($1)::text';
CREATE AGGREGATE json_group_array(bigint) (SFUNC = array_append, STYPE = bigint[], INITCOND = '{}', FINALFUNC = json_list);
CREATE AGGREGATE json_group_array(text) (SFUNC = array_append, STYPE = text[], INITCOND = '{}', FINALFUNC = json_list);

CREATE FUNCTION json_array_length(text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT pg_catalog.json_array_length($1::json)::bigint';

-- A part of JSON: text as it is, everything else as JSON.
CREATE FUNCTION json_part(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
    AS $$SELECT CASE WHEN $2 LIKE '$.%' THEN $1::json #>> string_to_array(substr($2, 3), '.') ELSE $1::json ->> $2 END$$;
CREATE FUNCTION json_part(text, integer) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1::json ->> $2';
CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_part);
CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = integer, FUNCTION = json_part);

CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT
    AS $$SELECT CASE json_typeof(e.value) WHEN 'string' THEN e.value #>> '{}' ELSE e.value::text END
        FROM pg_catalog.json_array_elements(list::json) e$$;
CREATE FUNCTION json_each(document text, path text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT
    AS $$SELECT CASE json_typeof(e.value) WHEN 'string' THEN e.value #>> '{}' ELSE e.value::text END
        FROM pg_catalog.json_array_elements(document::json #> string_to_array(substr(path, 3), '.')) e$$;

-- Every text in a document. One with a NUL, which no text here can hold, is left out.
CREATE FUNCTION json_tree(document text) RETURNS TABLE (atom text, type text) LANGUAGE sql IMMUTABLE STRICT
    AS $$WITH RECURSIVE nodes (value) AS (
            SELECT document::json
            UNION ALL
            SELECT child.value FROM nodes, LATERAL (
                SELECT o.value FROM pg_catalog.json_each(
                    CASE json_typeof(nodes.value) WHEN 'object' THEN nodes.value ELSE '{}' END) o
                UNION ALL
                SELECT a.value FROM pg_catalog.json_array_elements(
                    CASE json_typeof(nodes.value) WHEN 'array' THEN nodes.value ELSE '[]' END) a
            ) child
        )
        SELECT nodes.value #>> '{}', 'text' FROM nodes
        WHERE json_typeof(nodes.value) = 'string' AND nodes.value::text NOT LIKE '%\u0000%'$$;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    RAISE EXCEPTION '% are never changed', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END$$;
CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF (SELECT value FROM meta WHERE key = 'purging') IS DISTINCT FROM 'yes' THEN
        RAISE EXCEPTION 'only a purge takes % away', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END$$;
