package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"cancha/stream"
)

// class is what a type of PostgreSQL is for our purposes.
type class uint8

const (
	other    class = iota // whatever has texts of its own: uuid, inet, date, an enum
	texts                 // any value, as CSV writes it
	truths                // boolean
	integers              // smallint, integer, bigint
	decimals              // numeric: integers and numbers
	numbers               // double precision
	times                 // timestamptz; timestamp, in UTC
	jsons                 // json, jsonb: any value, as JSON
	useless               // real, which would round in silence, and bytea
)

// classes are by the names of types in pg_type.
func classOf(typname string) class {
	switch typname {
	case "text", "varchar", "bpchar", "citext", "name":
		return texts
	case "bool":
		return truths
	case "int2", "int4", "int8":
		return integers
	case "numeric":
		return decimals
	case "float8":
		return numbers
	case "timestamptz", "timestamp":
		return times
	case "json", "jsonb":
		return jsons
	case "float4", "bytea":
		return useless
	}
	return other
}

// wants says which types a column of a kind can be written to, the one that Create takes first.
func wants(k stream.Kind) (all []class, names string, created string) {
	switch k {
	case stream.Bool:
		return []class{truths, texts, jsons}, "boolean, text or jsonb", "boolean"
	case stream.Int:
		return []class{integers, decimals, texts, jsons}, "bigint, integer, smallint, numeric, text or jsonb", "bigint"
	case stream.Float:
		return []class{numbers, decimals, texts, jsons}, "double precision, numeric, text or jsonb", "double precision"
	case stream.Time:
		return []class{times, texts, jsons}, "timestamptz, timestamp, text or jsonb", "timestamptz"
	case stream.JSON:
		return []class{jsons, texts}, "jsonb, json or text", "jsonb"
	case stream.Text:
		return []class{texts, other, jsons}, "text, varchar, jsonb or a type that has texts, such as uuid", "text"
	}
	return []class{texts, truths, integers, decimals, numbers, times, jsons, other}, "any type but real and bytea", "text"
}

// column is a column of the rows, and what it meets in the table.
type column struct {
	stream.Column
	class class
}

// found is a column of the table.
type found struct {
	name, typ, typname          string
	required, given, forbidding bool // not null; has a value if none is given; takes none
}

// columnsSQL lists the columns of a table, and what kind of relation it is. A domain counts as the type that it is of.
const columnsSQL = `SELECT c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname),
	a.attnotnull, a.atthasdef OR a.attidentity <> '', a.attgenerated <> '' OR a.attidentity = 'a'
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
WHERE c.oid = to_regclass($1) ORDER BY a.attnum`

// uniqueSQL lists the columns of each unique index by which rows can be told apart.
const uniqueSQL = `SELECT string_agg(a.attname, E'\n' ORDER BY a.attname COLLATE "C")
FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, at)
	JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
	AND k.at <= i.indnkeyatts
GROUP BY i.indexrelid`

// rightsSQL asks whether the user may insert, and whether he may look and update, be it a column alone: the statements say the rest.
const rightsSQL = `SELECT has_any_column_privilege(oid, 'INSERT'), has_any_column_privilege(oid, 'SELECT') AND has_any_column_privilege(oid, 'UPDATE')
FROM pg_class WHERE oid = to_regclass($1)`

// makeTable runs a CREATE TABLE IF NOT EXISTS. Of several that run at once, as where the processes of a group start together, PostgreSQL lets one pass and
// refuses the others, at whatever it comes to first; the table is there then.
func makeTable(ctx context.Context, conn *pgconn.PgConn, statement string) error {
	_, err := conn.Exec(ctx, statement).ReadAll()
	if told := (*pgconn.PgError)(nil); errors.As(err, &told) && slices.Contains([]string{uniqueViolation, duplicateTable, duplicateObject}, told.Code) {
		_, err = conn.Exec(ctx, statement).ReadAll()
	}
	return err
}

// SQLSTATEs.
const (
	uniqueViolation = "23505"
	undefinedTable  = "42P01"
	duplicateTable  = "42P07" // of its primary key, too
	duplicateObject = "42710" // the type of its rows
)

// look finds the table, which is made first if the configuration says so, and checks that the rows fit into it.
func (c *Config) look(ctx context.Context, conn *pgconn.PgConn, columns []stream.Column) ([]column, error) {
	create, err := c.creation(columns)
	if err != nil {
		return nil, err
	}
	if c.Create {
		if err := makeTable(ctx, conn, create); err != nil {
			return nil, fmt.Errorf("create the table: %w", err)
		}
	}
	table, err := ask(ctx, conn, columnsSQL, c.sql())
	if err != nil {
		return nil, fmt.Errorf("look the table up: %w", err)
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("there is no such table: set Create, or say\n%s", create)
	}
	if kind := table[0][0]; kind != "r" && kind != "p" {
		return nil, errors.New("it is not a table: views and foreign tables cannot take rows by COPY")
	}
	is, err := fit(columns, foundIn(table))
	if err != nil {
		return nil, err
	}
	if err := c.allowed(ctx, conn); err != nil {
		return nil, err
	}
	return is, c.unique(ctx, conn)
}

// allowed checks the user's rights.
func (c *Config) allowed(ctx context.Context, conn *pgconn.PgConn) error {
	rights, err := ask(ctx, conn, rightsSQL, c.sql())
	if err != nil {
		return fmt.Errorf("look the rights up: %w", err)
	}
	if rights[0][0] != "t" || len(c.Key) > 0 && rights[0][1] != "t" {
		parsed, err := c.parse()
		if err != nil {
			return err
		}
		return errors.New(c.grant(parsed.User))
	}
	return nil
}

// grant says that the user may not do what he has to, and what would let him.
func (c *Config) grant(user string) string {
	rights, more := "INSERT", ""
	if len(c.Key) > 0 {
		rights, more = "SELECT, INSERT, UPDATE", "; Key also takes TEMPORARY on the database"
	}
	if c.Create {
		more += "; Create also takes CREATE on the schema"
	}
	return fmt.Sprintf("user %s may not write it: GRANT %s ON %s TO %s%s", user, rights, c.sql(), quote(user), more)
}

// creation is the statement that makes the table.
func (c *Config) creation(columns []stream.Column) (string, error) {
	var parts []string
	for _, col := range columns {
		if col.Name == "" || len(col.Name) > maxName {
			return "", fmt.Errorf("column %q: want a name of 1 to %d bytes, as PostgreSQL keeps them: rename it by With and Drop", col.Name, maxName)
		}
		_, _, typ := wants(col.Kind)
		if said := c.Types[col.Name]; said != "" {
			typ = said
		}
		parts = append(parts, quote(col.Name)+" "+typ)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(col stream.Column) bool { return col.Name == name })
	}
	for _, name := range c.Key {
		if !has(name) {
			return "", fmt.Errorf("no column %q for the key among %s", name, list(columns))
		}
	}
	for name := range c.Types {
		if !has(name) {
			return "", fmt.Errorf("Types names column %q, which is not among %s", name, list(columns))
		}
	}
	if len(c.Key) > 0 {
		parts = append(parts, "PRIMARY KEY ("+quoted(c.Key)+")")
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)", c.sql(), strings.Join(parts, ", ")), nil
}

func foundIn(table [][]string) (all []found) {
	for _, r := range table {
		all = append(all, found{name: r[1], typ: r[2], typname: r[3], required: r[4] == "t", given: r[5] == "t", forbidding: r[6] == "t"})
	}
	return all
}

// fit finds each column of the rows in the table, and says all that does not fit.
func fit(columns []stream.Column, table []found) (is []column, err error) {
	var wrong []error
	for _, c := range columns {
		at := slices.IndexFunc(table, func(f found) bool { return f.name == c.Name })
		if at < 0 {
			_, _, typ := wants(c.Kind)
			wrong = append(wrong, fmt.Errorf("the table has no column %s: ALTER TABLE … ADD COLUMN %s %s, or Drop it from the query",
				c.Name, quote(c.Name), typ))
			continue
		}
		f := table[at]
		can, names, _ := wants(c.Kind)
		switch {
		case f.forbidding:
			wrong = append(wrong, fmt.Errorf("column %s is generated by the table: Drop it from the query", c.Name))
		case !slices.Contains(can, classOf(f.typname)):
			wrong = append(wrong, fmt.Errorf("column %s is %v, which does not fit into %s: want %s", c.Name, c.Kind, f.typ, names))
		}
		is = append(is, column{c, classOf(f.typname)})
	}
	for _, f := range table {
		if f.required && !f.given && !slices.ContainsFunc(columns, func(c stream.Column) bool { return c.Name == f.name }) {
			wrong = append(wrong, fmt.Errorf("column %s of the table must not be null, has no default, and is not among the query's: %s", f.name, list(columns)))
		}
	}
	return is, errors.Join(wrong...)
}

// unique checks that the table can tell rows apart by the key.
func (c *Config) unique(ctx context.Context, conn *pgconn.PgConn) error {
	if len(c.Key) == 0 {
		return nil
	}
	indexes, err := ask(ctx, conn, uniqueSQL, c.sql())
	if err != nil {
		return fmt.Errorf("look the unique indexes up: %w", err)
	}
	key := strings.Join(slices.Sorted(slices.Values(c.Key)), "\n")
	for _, index := range indexes {
		if index[0] == key {
			return nil
		}
	}
	return fmt.Errorf("it has no unique index of just the columns of Key: CREATE UNIQUE INDEX ON %s (%s)", c.sql(), quoted(c.Key))
}

// ask returns the rows of a query with one parameter, as texts.
func ask(ctx context.Context, conn *pgconn.PgConn, sql, parameter string) ([][]string, error) {
	result := conn.ExecParams(ctx, sql, [][]byte{[]byte(parameter)}, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	rows := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		for _, cell := range row {
			rows[i] = append(rows[i], string(cell))
		}
	}
	return rows, nil
}

// sql is the table's name as SQL has it.
func (c *Config) sql() string {
	schema, table, ok := strings.Cut(c.Table, ".")
	if !ok {
		return quote(c.Table)
	}
	return quote(schema) + "." + quote(table)
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quote(name)
	}
	return strings.Join(all, ", ")
}

func list(columns []stream.Column) string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}
