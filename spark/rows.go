package spark

import (
	"context"
	"fmt"
	"slices"

	"cancha/runtime/display"
	"cancha/runtime/grid"
	"cancha/runtime/session"
	"cancha/runtime/table"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/protocol"
)

// Collect computes the rows and brings them here. More than Config.CollectRows of them, or than Config.CollectBytes, are an error that says what to do
// instead; the server then stops.
func (d *DataFrame) Collect(ctx context.Context) (*table.Table, error) {
	all, err := d.collect(ctx)
	if err != nil {
		return nil, err
	}
	return tableOf(all)
}

func (d *DataFrame) collect(ctx context.Context) (*columns.Batch, error) {
	if d.err != nil {
		return nil, d.err
	}
	c, all, bytes := d.session.config, (*columns.Batch)(nil), int64(0)
	err := d.batches(ctx, func(b *columns.Batch, n int) error {
		bytes += int64(n)
		if all == nil {
			all = &columns.Batch{Columns: emptied(b.Columns)}
		}
		switch {
		case c.CollectRows > 0 && all.Rows+b.Rows > c.CollectRows:
			return fmt.Errorf("spark: the result has more than %s rows: %s; Config.CollectRows raises the limit", count(int64(c.CollectRows)), instead)
		case c.CollectBytes > 0 && bytes > c.CollectBytes:
			return fmt.Errorf("spark: the result has more than %s: %s; Config.CollectBytes raises the limit", size(c.CollectBytes), instead)
		}
		return all.Append(b)
	})
	if all == nil {
		all = &columns.Batch{}
	}
	return all, err
}

const instead = "aggregate it, take a part with Limit, leave it on the server with Write or View, or take it batch by batch with Each"

// emptied are the columns without their rows.
func emptied(of []columns.Column) []columns.Column {
	all := make([]columns.Column, len(of))
	for i, c := range of {
		all[i] = columns.Column{Name: c.Name, Type: c.Type}
	}
	return all
}

// batches computes the rows; each sees them as they come, and how many bytes of Arrow they were.
func (d *DataFrame) batches(ctx context.Context, each func(b *columns.Batch, bytes int) error) error {
	if d.err != nil {
		return d.err
	}
	return d.session.run(ctx, d.plan(), func(r *protocol.ExecuteResponse) error {
		a := r.GetArrow()
		if a == nil {
			return nil
		}
		b, err := columns.Read(a.Data)
		if err != nil {
			return fmt.Errorf("spark: %w", err)
		}
		if int64(b.Rows) != a.Rows {
			return fmt.Errorf("spark: a batch of %d rows was to have %d: the answer is damaged", b.Rows, a.Rows)
		}
		return each(b, len(a.Data))
	})
}

// Each computes the rows and hands them over batch by batch, as the server has them, so that there is never more than one of them here. An error of
// each ends the work on the server, and is returned.
func (d *DataFrame) Each(ctx context.Context, each func(rows *table.Table) error) error {
	return d.batches(ctx, func(b *columns.Batch, _ int) error {
		if b.Rows == 0 {
			return nil
		}
		t, err := tableOf(b)
		if err != nil {
			return err
		}
		return each(t)
	})
}

// Count computes how many rows there are.
func (d *DataFrame) Count(ctx context.Context) (int64, error) {
	all, err := d.GroupBy().Agg("count(1) AS n").collect(ctx)
	if err != nil {
		return 0, err
	}
	if len(all.Columns) == 1 && all.Rows == 1 {
		if n, ok := all.Columns[0].Values.([]int64); ok {
			return n[0], nil
		}
	}
	return 0, fmt.Errorf("spark: a count was answered with %d rows of %d columns", all.Rows, len(all.Columns))
}

// tableOf is a batch as a table. Two columns of one name are an error.
func tableOf(b *columns.Batch) (*table.Table, error) {
	series := make([]table.Series, len(b.Columns))
	for i, c := range b.Columns {
		series[i] = table.Series{Name: c.Name, Values: c.Values, Missing: c.Missing}
	}
	t, err := table.New(series...)
	if err != nil {
		return nil, fmt.Errorf("spark: %w with AS in the query", err)
	}
	return t, nil
}

// batchOf is a table as columns that can be sent.
func batchOf(t *table.Table) *columns.Batch {
	b := &columns.Batch{Rows: t.Len()}
	for i, name := range t.Columns() {
		values := make([]any, t.Len())
		for row := range values {
			values[row] = t.Value(row, name)
		}
		c := columns.Column{Name: name, Values: values}
		if !slices.ContainsFunc(values, func(v any) bool { return v != nil }) {
			c.Type = typeOfTable(t.Types()[i]) // no value tells
		}
		b.Columns = append(b.Columns, c)
	}
	return b
}

// typeOfTable is the type of a table's column in Spark's words.
func typeOfTable(kind string) columns.Type {
	switch kind {
	case "int":
		return columns.Type{Kind: columns.Long}
	case "float":
		return columns.Type{Kind: columns.Double}
	case "string":
		return columns.Type{Kind: columns.String}
	case "bool":
		return columns.Type{Kind: columns.Boolean}
	case "time":
		return columns.Type{Kind: columns.Timestamp}
	case "duration":
		return columns.Type{Kind: columns.DayTime}
	}
	return columns.Type{}
}

// What is shown of a frame at most.
const (
	shownRows    = 20
	shownColumns = 20
)

// Show computes the first 20 rows and shows them in the running cell, as Spark's show prints them. What a statement such as CREATE VIEW gives has no
// columns, and nothing to show.
func (d *DataFrame) Show(ctx context.Context) error {
	g, err := d.shown(ctx)
	if err == nil && len(g.Header) > 0 {
		display.Show(g)
	}
	return err
}

// MIMEBundle computes the first 20 rows and shows them; what goes wrong is shown instead. An interrupt of the cell ends it.
func (d *DataFrame) MIMEBundle() map[string]any {
	g, err := d.shown(session.Context())
	if err != nil {
		g = grid.Grid{Caption: "DataFrame", Header: []string{"error"}, Rows: [][]string{{err.Error()}}}
	}
	return g.MIMEBundle()
}

func (d *DataFrame) shown(ctx context.Context) (grid.Grid, error) {
	b, err := d.Limit(shownRows + 1).collect(ctx)
	if err != nil {
		return grid.Grid{}, err
	}
	g := grid.Grid{}
	for i := range min(len(b.Columns), shownColumns) {
		g.Header = append(g.Header, b.Columns[i].Name)
	}
	for row := range min(b.Rows, shownRows) {
		var cells []string
		for i := range g.Header {
			cells = append(cells, b.Columns[i].Text(row))
		}
		g.Rows = append(g.Rows, cells)
	}
	g.Note = fmt.Sprintf("%d rows × %d", b.Rows, len(b.Columns))
	switch {
	case b.Rows == 1:
		g.Note = fmt.Sprintf("1 row × %d", len(b.Columns))
	case b.Rows > shownRows:
		g.Note = fmt.Sprintf("the first %d rows × %d", shownRows, len(b.Columns))
	}
	return g, nil
}

// count writes n with a comma every three digits.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
