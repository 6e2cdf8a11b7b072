package spark

import (
	"context"
	"fmt"

	"cancha/runtime/table"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/protocol"
)

// CreateFrame makes a frame of rows that are here: whatever table.Of takes, such as a slice of structs, or a *table.Table. Integers become bigint,
// numbers double, times timestamp, slices array, maps and structs inside map and struct; what is missing becomes null. A value that Spark has no type
// for is an error with its column, and so are more than about 64 MB: write those where the server can read them.
func (s *Session) CreateFrame(rows any) (*DataFrame, error) {
	t, err := table.Of(rows)
	if err != nil {
		return nil, err
	}
	data, err := columns.Write(batchOf(t))
	if err != nil {
		return nil, fmt.Errorf("spark: make a frame: %w", err)
	}
	if len(data) > mostLocal {
		return nil, fmt.Errorf("spark: %s of rows are too many to be sent with each use of the frame (%s at most): write them to a file or a topic that the server "+
			"reads, and use Read", size(int64(len(data))), size(mostLocal))
	}
	return s.frame(&protocol.Relation{Of: &protocol.Relation_Local{Local: &protocol.Local{Data: data}}}), nil
}

// mostLocal keeps a plan below what a server takes in one message, 128 MB, with room for the same frame on both sides of a join.
const mostLocal = 60_000_000

// Read describes the rows of files, or of another source that the server knows.
func (s *Session) Read(of Source) *DataFrame { return s.frame(of.relation(false)) }

// ReadStream describes the rows of a stream: the frame has no end, and is for Start.
func (s *Session) ReadStream(of Source) *DataFrame { return s.frame(of.relation(true)) }

// Source is something that the server reads.
type Source struct {
	Format  string            // parquet, csv, json, orc, kafka, delta …; empty: the server's default, parquet
	Schema  string            // as in CREATE TABLE: "id BIGINT, at TIMESTAMP"; empty: the source's own, or one that is guessed
	Options map[string]string // of the format, such as "header": "true"
	Paths   []string          // as the server sees them
}

func (of Source) relation(streaming bool) *protocol.Relation {
	source := &protocol.Read_Source{Options: of.Options, Paths: of.Paths}
	if of.Format != "" {
		source.Format = &of.Format
	}
	if of.Schema != "" {
		source.Schema = &of.Schema
	}
	return &protocol.Relation{Of: &protocol.Relation_Read{Read: &protocol.Read{Streaming: streaming, Of: &protocol.Read_Source_{Source: source}}}}
}

// Table describes the rows of a table or a view.
func (s *Session) Table(name string) *DataFrame {
	return s.frame(&protocol.Relation{Of: &protocol.Relation_Read{Read: &protocol.Read{Of: &protocol.Read_Table_{Table: &protocol.Read_Table{Name: name}}}}})
}

// Range describes the integers [from, to) in one column, id.
func (s *Session) Range(from, to int64) *DataFrame {
	return s.frame(&protocol.Relation{Of: &protocol.Relation_Range{Range: &protocol.Range{Start: &from, End: to, Step: 1}}})
}

// SQL runs a statement of Spark's SQL. A query is described by the frame, and computed when rows are asked for; any other statement is run at once.
// Values for the marks ? in it follow; for marks like :city give one map[string]any. They are bools, numbers, strings, times, decimals and []byte.
// No session, as Connect leaves one that fails, is an error.
func (s *Session) SQL(ctx context.Context, query string, args ...any) (*DataFrame, error) {
	if s == nil {
		return nil, errNoSession
	}
	q := &protocol.SQL{Query: query}
	if err := bind(q, args); err != nil {
		return nil, err
	}
	var r *protocol.Relation
	command := &protocol.Command{Of: &protocol.Command_Sql{Sql: &protocol.SQLCommand{Input: &protocol.Relation{Of: &protocol.Relation_Sql{Sql: q}}}}}
	err := s.do(ctx, command, func(a *protocol.ExecuteResponse) bool {
		if got := a.GetSql(); got != nil {
			r = got.Relation
		}
		return r != nil
	})
	if err != nil {
		return nil, err
	}
	return s.frame(r), nil
}

// bind sets the values of a statement's marks.
func bind(q *protocol.SQL, args []any) error {
	if named, ok := one(args).(map[string]any); ok {
		q.Named = map[string]*protocol.Expr{}
		for name, v := range named {
			e, err := literal(v)
			if err != nil {
				return fmt.Errorf("spark: the value of :%s: %w", name, err)
			}
			q.Named[name] = e
		}
		return nil
	}
	for i, v := range args {
		e, err := literal(v)
		if err != nil {
			return fmt.Errorf("spark: value %d: %w", i+1, err)
		}
		q.Positional = append(q.Positional, e)
	}
	return nil
}

// one is the only value of a list; nil if there are several, or none.
func one(args []any) any {
	if len(args) != 1 {
		return nil
	}
	return args[0]
}
