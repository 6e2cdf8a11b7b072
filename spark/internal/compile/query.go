package compile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// Options is what a plan does not say. The zero Options make rows that come back to this process, of a query without a checkpoint.
type Options struct {
	// Name is the query's on the cluster, and that of the table in memory that its rows are read back from; empty: the plan's, as far as letters
	// of SQL go.
	Name string
	// Checkpoint is a folder that the whole cluster reaches, such as s3a://bucket/place; empty: none, which sinks of Kafka and files do not take.
	Checkpoint string
	Sink       Sink
	// Kafka are more options of Kafka's Java client, such as kafka.ssl.truststore.location: a file of the cluster's machines.
	Kafka map[string]string
	// BatchRecords is how many records a batch reads at most; 0: no bound.
	BatchRecords int64
	// Records, unless nil, gives the records of an input in place of Kafka: a relation with the columns key, value (BINARY), topic, partition,
	// offset, timestamp and headers, as Spark's Kafka source has them. The query is one over what is there then, not a stream, and has no
	// watermark.
	Records func(in plan.Input) (*protocol.Relation, error)
}

// Sink is where the cluster writes the rows by itself. The zero Sink is a table in memory, which they are read back from.
type Sink struct {
	Format  string // kafka, parquet, csv, json; empty: memory
	Kafka   *plan.Kafka
	Key     string // of kafka: the column whose text is the key
	Path    string // of files: a folder that the whole cluster reaches
	PartBy  []string
	Options map[string]string // more of the format's
}

// Compiled is a plan as Spark runs it.
type Compiled struct {
	// Settings are what the session must have before anything else.
	Settings map[string]string
	// Rows is the relation of the query's rows, with Columns. A column of kind stream.Any or stream.JSON is a STRING that holds the JSON of each
	// value, and NULL where there is none; the others are BOOLEAN, BIGINT, DOUBLE, STRING and TIMESTAMP.
	Rows    *protocol.Relation
	Columns []stream.Column
	// Start starts the query. It is nil with Options.Records.
	Start *protocol.StreamStart
	// MaxTime is after how long the query is to be stopped, by whoever started it; 0: never.
	MaxTime time.Duration
	// MaxRecords is after how many records, as Observed counts them, the query is to be stopped, by whoever started it; 0: never. No batch reads
	// more than so many of one source.
	MaxRecords int64
	// Observed are the observations that progress reports carry, each with the columns records and bad: first that of the first source, and one for
	// each other source and each Require.
	Observed []Observation
	// Notes say what the cluster does otherwise than the local engine, a sentence each.
	Notes []string
}

// Observation is what Spark counts beside the rows of a query: records that are bad for a reason.
type Observation struct{ Name, Reason string }

// Query compiles a plan, or refuses it by the operator's name.
func Query(p *plan.Plan, o Options) (*Compiled, error) {
	c := &compiler{options: o, mode: p.Output, taken: map[string]bool{}}
	compiled, err := c.query(p)
	if err != nil {
		return nil, fmt.Errorf("compile %s for Spark: %w", p.Name, err)
	}
	return compiled, nil
}

// compiler is what the parts of a query share while it is compiled.
type compiler struct {
	options  Options
	mode     string
	taken    map[string]bool // names of columns
	limit    int64           // records; 0: no end
	stateful int             // operators with memory
	table    bool            // what is compiled is a table, which is no stream
	observed []Observation
	notes    []string
	last     plan.Step // the aggregation whose rows are given out as they change
	deferred []func()  // what can be written down only when all steps are known
}

func (c *compiler) query(p *plan.Plan) (*Compiled, error) {
	c.check(p)
	c.limit = p.Limit
	l, err := c.source(p)
	if err == nil {
		err = l.steps(p.Steps)
	}
	if err == nil {
		err = c.checkMode(p)
	}
	if err != nil {
		return nil, err
	}
	out := &Compiled{Settings: settings(), MaxTime: p.MaxTime, MaxRecords: p.Limit}
	if out.Rows, out.Columns, err = l.export(); err != nil {
		return nil, err
	}
	for _, do := range c.deferred {
		do()
	}
	if c.options.Records == nil {
		out.Start, err = c.start(p, out)
	}
	out.Observed, out.Notes = c.observed, c.notes
	return out, err
}

// settings are what the meaning of the SQL depends on.
func settings() map[string]string {
	return map[string]string{
		"spark.sql.session.timeZone":                  "UTC",
		"spark.sql.ansi.enabled":                      "true",
		"spark.sql.caseSensitive":                     "true",
		"spark.sql.parser.escapedStringLiterals":      "false",
		"spark.sql.variant.allowDuplicateKeys":        "true",
		"spark.sql.legacy.timeParserPolicy":           "CORRECTED",
		"spark.sql.streaming.multipleWatermarkPolicy": "min",
	}
}

// check notes settings whose counterpart is another.
func (c *compiler) check(p *plan.Plan) {
	if c.options.Records != nil {
		return
	}
	if p.Limit > 0 {
		c.note("MaxRecords ends the query behind the batch in which so many records have been read: of a topic that is written to there may be more.")
	}
	if p.Now && p.Trigger > 0 {
		c.note("Trigger does nothing with AvailableNow: Spark gives the rows of each batch out at its end.")
	}
	if len(p.Sinks) > len(p.Outlets) {
		c.note("DeadLetters get nothing: Spark counts bad records, in the observations of progress reports, and keeps none.")
	}
	if p.Input.KeyedBy != "" {
		c.note("KeyedBy does nothing: Spark has one watermark for all partitions, that of its latest event of the batch before.")
	}
}

func (c *compiler) note(sentence string) {
	if !slices.Contains(c.notes, sentence) {
		c.notes = append(c.notes, sentence)
	}
}

// remembers counts an operator with memory, and refuses one too many for the output mode.
func (c *compiler) remembers(op string) error {
	if c.table {
		return fmt.Errorf("spark: %s in a table that a query fills: on Spark the table is read anew for each batch, and keeps no state; "+
			"do it in the query that looks the table up, or have another query write to a topic", op)
	}
	if c.stateful++; c.stateful > 1 && c.mode != "append" && c.options.Records == nil {
		return fmt.Errorf("spark: %s beside another operator with memory: Spark has those together in the append mode alone; use Output(Append)", op)
	}
	return nil
}

// checkMode refuses what has no result in an output mode.
func (c *compiler) checkMode(p *plan.Plan) error {
	if p.Output == "append" || c.last.Op == plan.Aggregation {
		return nil
	}
	return fmt.Errorf("spark: the %s mode gives out the rows of an aggregation as they change, and there is none: use Output(Append)", p.Output)
}

// export gives the columns their names.
func (l *layout) export() (*protocol.Relation, []stream.Column, error) {
	if l.open {
		return nil, nil, errors.New("spark: records have no columns yet; add .Select with the paths to give out")
	}
	nodes, err := l.nodes(l.columns)
	if err != nil {
		return nil, nil, err
	}
	exprs, columns := make([]*protocol.Expr, len(nodes)), make([]stream.Column, len(nodes))
	for i, n := range nodes {
		columns[i] = stream.Column{Name: l.columns[i], Kind: n.kind}
		exprs[i] = named(n.sql, l.columns[i])
	}
	return project(l.rel, exprs...), columns, nil
}
