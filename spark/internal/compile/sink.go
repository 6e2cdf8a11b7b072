package compile

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// start is the start of the query.
func (c *compiler) start(p *plan.Plan, out *Compiled) (*protocol.StreamStart, error) {
	if c.options.Checkpoint == "" && p.Checkpoint != "" {
		return nil, fmt.Errorf("spark: the checkpoint %s is a place of this process; give the query on Spark a folder that the whole cluster "+
			"reaches, such as s3a://bucket/place", p.Checkpoint)
	}
	s := &protocol.StreamStart{OutputMode: c.mode, Name: c.name(p), Options: map[string]string{}}
	switch {
	case p.Now:
		s.Trigger = &protocol.StreamStart_AvailableNow{AvailableNow: true}
	case p.Trigger > 0:
		s.Trigger = &protocol.StreamStart_Interval{Interval: micros(p.Trigger)}
	}
	if c.options.Checkpoint != "" {
		s.Options["checkpointLocation"] = c.options.Checkpoint
	}
	return s, c.to(s, out)
}

// notPlain are what names of tables do not have.
var notPlain = regexp.MustCompile(`[^0-9A-Za-z_]+`)

// Name is a query's name as a table and a folder can have it: letters, digits and _, a letter first.
func Name(p *plan.Plan) string {
	name := strings.Trim(notPlain.ReplaceAllString(p.Name, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' { // SQL reads 1e5 as a number
		name = strings.TrimSuffix("query_"+name, "_")
	}
	return name
}

// name is the query's on the cluster.
func (c *compiler) name(p *plan.Plan) string {
	if c.options.Name != "" {
		return c.options.Name
	}
	return Name(p)
}

// to says where the rows go.
func (c *compiler) to(s *protocol.StreamStart, out *Compiled) error {
	sink := c.options.Sink
	if sink.Format != "" && c.options.Checkpoint == "" {
		return fmt.Errorf("spark: a sink of the format %s without a checkpoint: Spark wants one; give it a folder that the whole cluster reaches",
			sink.Format)
	}
	maps.Copy(s.Options, sink.Options)
	s.PartitionBy = sink.PartBy
	switch sink.Format {
	case "":
		return c.toMemory(s, out)
	case "kafka":
		return c.toKafka(s, out)
	case "parquet", "csv", "json":
		return c.toFiles(s, out)
	}
	return fmt.Errorf("spark: there is no sink of the format %q; there are kafka, parquet, csv and json, and none for rows that come back",
		sink.Format)
}

// toMemory keeps the rows in a table, which they are read back from.
func (c *compiler) toMemory(s *protocol.StreamStart, out *Compiled) error {
	if c.options.Checkpoint != "" && c.mode != "complete" {
		return errors.New("spark: rows that come back to this process are in no checkpoint of Spark's; have the cluster write them to a topic " +
			"or to files, or leave Checkpoint out")
	}
	s.Format, s.Input = "memory", out.Rows
	return nil
}

// toKafka writes each row as a JSON object, absent values left out.
func (c *compiler) toKafka(s *protocol.StreamStart, out *Compiled) error {
	sink := c.options.Sink
	if sink.Kafka == nil || len(sink.Kafka.Topics) != 1 {
		return errors.New("spark: a sink of Kafka without its topic")
	}
	client, err := c.kafkaClient(sink.Kafka)
	if err != nil {
		return err
	}
	maps.Copy(s.Options, client)
	s.Options["topic"] = sink.Kafka.Topics[0]
	exprs := []*protocol.Expr{named(object(out.Columns), "value")}
	if sink.Key != "" {
		key, err := keyOf(out.Columns, sink.Key)
		if err != nil {
			return err
		}
		exprs = append(exprs, named(key, "key"))
	}
	s.Format, s.Input = "kafka", project(out.Rows, exprs...)
	return nil
}

// object is a row as a JSON object.
func object(columns []stream.Column) string {
	var members []string
	for _, column := range columns {
		n := node{kind: column.Kind, sql: quoted(column.Name)}
		value := n.sql
		switch column.Kind {
		case stream.Time:
			value = stamped(n.sql)
		case stream.Any, stream.JSON:
			value = fmt.Sprintf("try_parse_json(%s)", n.sql)
		case stream.Float:
			value = fmt.Sprintf("try_parse_json(%s)", printed(n.sql))
		}
		members = append(members, fmt.Sprintf("%s, %s", quote(column.Name), value))
	}
	return "to_json(named_struct(" + strings.Join(members, ", ") + "))"
}

// keyOf is the text of a column.
func keyOf(columns []stream.Column, name string) (string, error) {
	for _, column := range columns {
		if column.Name != name {
			continue
		}
		n := node{kind: column.Kind, sql: quoted(name)}
		switch column.Kind {
		case stream.Text:
			return n.sql, nil
		case stream.Time:
			return stamped(n.sql), nil
		case stream.Any:
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", isTextIn(n.sql), textIn(n.sql), n.sql), nil
		}
		return n.any()
	}
	return "", fmt.Errorf("spark: there is no column %q for the key of records", name)
}

// toFiles writes the rows into files of a folder. A column of any value is there as JSON.
func (c *compiler) toFiles(s *protocol.StreamStart, out *Compiled) error {
	sink := c.options.Sink
	switch {
	case sink.Path == "":
		return fmt.Errorf("spark: a sink of %s files without a folder", sink.Format)
	case c.mode != "append":
		return fmt.Errorf("spark: files in the %s mode: what is in a file is not changed; use Output(Append)", c.mode)
	}
	s.To = &protocol.StreamStart_Path{Path: sink.Path}
	s.Format, s.Input = sink.Format, out.Rows
	if sink.Format == "json" {
		s.Format, s.Input = "text", project(out.Rows, named(object(out.Columns), "value"))
	}
	return nil
}
