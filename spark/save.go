package spark

import (
	"context"
	"errors"
	"fmt"

	"cancha/spark/internal/protocol"
)

// Save says where and how Write writes. Path or Table is required.
type Save struct {
	Path        string            // a folder, as the server sees it
	Table       string            // by its name; it is made unless Mode says otherwise
	Format      string            // parquet, csv, json, orc, kafka, delta …; empty: the server's default, parquet
	Mode        Mode              // empty: what is there already is an error
	PartitionBy []string          // columns whose values become folders
	Options     map[string]string // of the format
}

// Mode says what becomes of what is there already.
type Mode string

// The modes, in Spark's words.
const (
	Append        Mode = "append"
	Overwrite     Mode = "overwrite"
	Ignore        Mode = "ignore" // nothing is written
	ErrorIfExists Mode = "error"
)

func (m Mode) protocol() (protocol.Write_Mode, error) {
	switch m {
	case "", ErrorIfExists:
		return protocol.Write_ERROR_IF_EXISTS, nil
	case Append:
		return protocol.Write_APPEND, nil
	case Overwrite:
		return protocol.Write_OVERWRITE, nil
	case Ignore:
		return protocol.Write_IGNORE, nil
	}
	return 0, fmt.Errorf("spark: %q is no mode of writing; there are append, overwrite, ignore and error", string(m))
}

// Write computes the rows and writes them where the server can: no row comes here.
func (d *DataFrame) Write(ctx context.Context, to Save) error {
	if d.err != nil {
		return d.err
	}
	w, err := to.write(d.relation)
	if err != nil {
		return err
	}
	return d.session.do(ctx, &protocol.Command{Of: &protocol.Command_Write{Write: w}}, nil)
}

func (to Save) write(in *protocol.Relation) (*protocol.Write, error) {
	mode, err := to.Mode.protocol()
	if err != nil {
		return nil, err
	}
	w := &protocol.Write{Input: in, Mode: mode, PartitionBy: to.PartitionBy, Options: to.Options}
	if to.Format != "" {
		w.Format = &to.Format
	}
	switch {
	case to.Path != "" && to.Table != "":
		return nil, fmt.Errorf("spark: write to the path %q and to the table %q; choose one", to.Path, to.Table)
	case to.Table != "":
		w.To = &protocol.Write_Table{Table: &protocol.Write_SaveTable{Name: to.Table, Method: protocol.Write_SaveTable_SAVE_AS}}
	case to.Path != "":
		w.To = &protocol.Write_Path{Path: to.Path}
	case to.Format != "kafka" && to.Format != "noop" && to.Format != "jdbc": // these say where by their options
		return nil, errors.New("spark: write nowhere; name a Path or a Table")
	}
	return w, nil
}

// View gives the frame a name for SQL, in this session. A view of that name is replaced.
func (d *DataFrame) View(ctx context.Context, name string) error {
	if d.err != nil {
		return d.err
	}
	return d.session.do(ctx, &protocol.Command{Of: &protocol.Command_View{View: &protocol.View{Input: d.relation, Name: name, Replace: true}}}, nil)
}

// DropView takes a name from SQL. One that there is not changes nothing.
func (s *Session) DropView(ctx context.Context, name string) error {
	_, err := s.SQL(ctx, "DROP VIEW IF EXISTS "+quote(name))
	return err
}

// Persist keeps the rows in the server's memory, and on its disks where that is not enough, once they have been computed.
func (d *DataFrame) Persist(ctx context.Context) error {
	return d.analyze(ctx, &protocol.AnalyzeRequest{Of: &protocol.AnalyzeRequest_Persist_{Persist: &protocol.AnalyzeRequest_Persist{Relation: d.relation}}})
}

// Unpersist lets go of what Persist keeps.
func (d *DataFrame) Unpersist(ctx context.Context) error {
	return d.analyze(ctx, &protocol.AnalyzeRequest{Of: &protocol.AnalyzeRequest_Unpersist_{Unpersist: &protocol.AnalyzeRequest_Unpersist{Relation: d.relation}}})
}

func (d *DataFrame) analyze(ctx context.Context, q *protocol.AnalyzeRequest) error {
	_, err := d.analysis(ctx, q)
	return err
}

func (d *DataFrame) analysis(ctx context.Context, q *protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
	if d.err != nil {
		return nil, d.err
	}
	ctx, stop := joined(ctx)
	defer stop()
	return d.session.client.Analyze(ctx, q)
}
