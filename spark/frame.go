package spark

import (
	"errors"
	"fmt"

	"cancha/spark/internal/protocol"
)

// DataFrame is rows that a server would compute: a description, to which methods without a context add. It does not change: each of these returns
// another one. Columns are named as in Spark's SQL, and where a method takes SQL it is the text of an expression: "price * 1.21 AS gross".
type DataFrame struct {
	session  *Session
	relation *protocol.Relation
	err      error // of a description that has gone wrong; the first method with a context tells
}

// String tells what it is; rows are computed by methods with a context, and where a notebook shows the frame.
func (d *DataFrame) String() string {
	if d.session == nil {
		return "a DataFrame without a session"
	}
	return "a DataFrame on " + d.session.String()
}

// errNoSession is of a session that is nil, as Connect leaves one that fails.
var errNoSession = errors.New("spark: there is no session: Connect failed, or was not called; run the cell with spark.Connect again and see its error")

// frame is a frame of a relation. Without a session it is one that has gone wrong.
func (s *Session) frame(r *protocol.Relation) *DataFrame {
	d := &DataFrame{session: s, relation: r}
	if s == nil {
		d.err = errNoSession
	}
	return d
}

// with is the frame of a relation over this one.
func (d *DataFrame) with(of func(input *protocol.Relation) *protocol.Relation) *DataFrame {
	if d.err != nil {
		return d
	}
	return d.session.frame(of(d.relation))
}

// wrong is a frame that tells of an error.
func (d *DataFrame) wrong(err error) *DataFrame {
	if d.err != nil {
		return d
	}
	return &DataFrame{session: d.session, relation: d.relation, err: err}
}

// plan is what the server computes.
func (d *DataFrame) plan() *protocol.Plan {
	return &protocol.Plan{Of: &protocol.Plan_Root{Root: d.relation}}
}

// Select takes these columns, each an expression of SQL: "city", "price * 2 AS twice", "*".
func (d *DataFrame) Select(sql ...string) *DataFrame {
	if len(sql) == 0 {
		return d.wrong(errors.New("spark: Select of no column; name some, or \"*\""))
	}
	return d.with(func(in *protocol.Relation) *protocol.Relation { return project(in, texts(sql)...) })
}

// Where keeps the rows for which a condition, in SQL, is true.
func (d *DataFrame) Where(sql string) *DataFrame {
	return d.with(func(in *protocol.Relation) *protocol.Relation { return filter(in, text(sql)) })
}

// WithColumn adds a column, or replaces the one of that name, by an expression of SQL.
func (d *DataFrame) WithColumn(name, sql string) *DataFrame {
	return d.with(func(in *protocol.Relation) *protocol.Relation { return withColumn(in, name, text(sql)) })
}

// Drop leaves columns out. A name that there is not changes nothing.
func (d *DataFrame) Drop(columns ...string) *DataFrame {
	return d.with(func(in *protocol.Relation) *protocol.Relation {
		return &protocol.Relation{Of: &protocol.Relation_Drop{Drop: &protocol.Drop{Input: in, Names: columns}}}
	})
}

// As gives the frame a name, by which conditions of joins tell its columns apart: "a.id = b.id".
func (d *DataFrame) As(name string) *DataFrame {
	return d.with(func(in *protocol.Relation) *protocol.Relation {
		return &protocol.Relation{Of: &protocol.Relation_Alias{Alias: &protocol.Alias{Input: in, Alias: name}}}
	})
}

// Distinct leaves out rows that equal another one: in these columns, or in all if none is named.
func (d *DataFrame) Distinct(columns ...string) *DataFrame {
	return d.with(func(in *protocol.Relation) *protocol.Relation {
		all := len(columns) == 0
		return &protocol.Relation{Of: &protocol.Relation_Deduplicate{Deduplicate: &protocol.Deduplicate{Input: in, Columns: columns, AllColumns: &all}}}
	})
}

// Limit takes the first n rows.
func (d *DataFrame) Limit(n int) *DataFrame {
	if n < 0 || n != int(int32(n)) {
		return d.wrong(fmt.Errorf("spark: Limit of %d rows; want 0 to 2147483647", n))
	}
	return d.with(func(in *protocol.Relation) *protocol.Relation { return limit(in, n) })
}

// Sort orders the rows by columns or expressions of SQL, the first counting most: "city", "total DESC", "total DESC NULLS LAST".
func (d *DataFrame) Sort(by ...string) *DataFrame {
	if len(by) == 0 {
		return d.wrong(errors.New("spark: Sort by nothing; name a column, with DESC behind it for the greatest first"))
	}
	return d.with(func(in *protocol.Relation) *protocol.Relation {
		global := true
		s := &protocol.Sort{Input: in, Global: &global}
		for _, text := range by {
			s.Order = append(s.Order, order(text))
		}
		return &protocol.Relation{Of: &protocol.Relation_Sort{Sort: s}}
	})
}

// Repartition spreads the rows over n partitions: by the values of columns if some are named, else evenly.
func (d *DataFrame) Repartition(n int, columns ...string) *DataFrame {
	if n < 1 || n != int(int32(n)) {
		return d.wrong(fmt.Errorf("spark: Repartition into %d; want 1 or more", n))
	}
	return d.with(func(in *protocol.Relation) *protocol.Relation {
		parts, shuffle := int32(n), true
		if len(columns) > 0 {
			return &protocol.Relation{Of: &protocol.Relation_RepartitionBy{RepartitionBy: &protocol.RepartitionBy{Input: in, Exprs: texts(columns), Partitions: &parts}}}
		}
		return &protocol.Relation{Of: &protocol.Relation_Repartition{Repartition: &protocol.Repartition{Input: in, Partitions: parts, Shuffle: &shuffle}}}
	})
}

// Watermark says, of a stream, which column is the event time and how late rows may come: "10 minutes".
func (d *DataFrame) Watermark(column, delay string) *DataFrame {
	return d.with(func(in *protocol.Relation) *protocol.Relation {
		return &protocol.Relation{Of: &protocol.Relation_Watermark{Watermark: &protocol.Watermark{Input: in, Column: column, Delay: delay}}}
	})
}

// Union puts the rows of another frame behind these. Columns are matched by their names.
func (d *DataFrame) Union(o *DataFrame) *DataFrame {
	return d.beside(o, func(a, b *protocol.Relation) *protocol.Relation {
		yes := true
		return &protocol.Relation{Of: &protocol.Relation_Set{Set: &protocol.SetOperation{Left: a, Right: b, Kind: protocol.SetOperation_UNION, All: &yes, ByName: &yes}}}
	})
}

// beside is the frame of two relations of one session.
func (d *DataFrame) beside(o *DataFrame, of func(a, b *protocol.Relation) *protocol.Relation) *DataFrame {
	switch {
	case o.err != nil:
		return d.wrong(o.err)
	case o.session != d.session:
		return d.wrong(errors.New("spark: two frames of different sessions; write one to a table, or make it from rows in the other's session"))
	}
	return d.with(func(in *protocol.Relation) *protocol.Relation { return of(in, o.relation) })
}

// JoinKind says which rows a join keeps.
type JoinKind string

// The kinds of joins: LeftSemi keeps the left rows that have a partner, LeftAnti those that have none.
const (
	Inner    JoinKind = "inner"
	Left     JoinKind = "left"
	Right    JoinKind = "right"
	Full     JoinKind = "full"
	LeftSemi JoinKind = "left semi"
	LeftAnti JoinKind = "left anti"
)

func (k JoinKind) protocol() (protocol.Join_Kind, error) {
	switch k {
	case Inner:
		return protocol.Join_INNER, nil
	case Left:
		return protocol.Join_LEFT, nil
	case Right:
		return protocol.Join_RIGHT, nil
	case Full:
		return protocol.Join_FULL, nil
	case LeftSemi:
		return protocol.Join_LEFT_SEMI, nil
	case LeftAnti:
		return protocol.Join_LEFT_ANTI, nil
	}
	return 0, fmt.Errorf("spark: %q is no kind of join; there are inner, left, right, full, left semi and left anti", string(k))
}

// Join puts together the rows of two frames for which a condition, in SQL, is true. Give frames names by As where columns are called the same.
func (d *DataFrame) Join(o *DataFrame, kind JoinKind, on string) *DataFrame {
	return d.join(o, kind, &protocol.Join{Condition: text(on)})
}

// JoinUsing puts together the rows of two frames that have the same values in these columns, of which the result has one each.
func (d *DataFrame) JoinUsing(o *DataFrame, kind JoinKind, columns ...string) *DataFrame {
	if len(columns) == 0 {
		return d.wrong(errors.New("spark: JoinUsing of no column; name those that are the same"))
	}
	return d.join(o, kind, &protocol.Join{Using: columns})
}

func (d *DataFrame) join(o *DataFrame, kind JoinKind, j *protocol.Join) *DataFrame {
	k, err := kind.protocol()
	if err != nil {
		return d.wrong(err)
	}
	return d.beside(o, func(a, b *protocol.Relation) *protocol.Relation {
		j.Left, j.Right, j.Kind = a, b, k
		return &protocol.Relation{Of: &protocol.Relation_Join{Join: j}}
	})
}

// Grouped is a frame whose rows have been put into groups. Agg makes a frame of it.
type Grouped struct {
	of   *DataFrame
	keys []string
}

// GroupBy puts rows into groups by columns or expressions of SQL, such as "city" or "window(at, '1 hour')"; all into one if there are none.
func (d *DataFrame) GroupBy(keys ...string) Grouped { return Grouped{d, keys} }

// Agg gives a row for each group: its keys, and aggregates in SQL: "count(*) AS n", "avg(price) AS mean".
func (g Grouped) Agg(sql ...string) *DataFrame {
	if len(sql) == 0 {
		return g.of.wrong(errors.New("spark: Agg of nothing; write aggregates, such as \"count(*) AS n\""))
	}
	return g.of.with(func(in *protocol.Relation) *protocol.Relation {
		return &protocol.Relation{Of: &protocol.Relation_Aggregate{Aggregate: &protocol.Aggregate{
			Input: in, Kind: protocol.Aggregate_GROUP_BY, Keys: texts(g.keys), Aggregates: texts(sql)}}}
	})
}
