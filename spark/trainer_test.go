package spark

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"cancha/internal/cellio"
	"cancha/ml"
	"cancha/ml/forest"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
	"cancha/spark/internal/trees"
)

// academy is a server that takes rows, grows a stump from them, and gives out its nodes. It notes what it is told, in order.
type academy struct {
	*server
	mu      sync.Mutex
	told    []string
	refuses string        // the told word at which it fails
	reads   chan struct{} // if set, told that nodes are read, which then lasts until the call ends
}

// newAcademy starts one. Its forests split column x0 at 0.5.
func newAcademy(t *testing.T) *academy {
	a := &academy{}
	schema := `{"schema":{"schema":{"struct":{"fields":[{"name":"x0","type":{"float":{}}},{"name":"x1","type":{"float":{}}},{"name":"y","type":{"long":{}}},{"name":"w","type":{"double":{}}}]}}}}`
	fake := connecttest.Config{Version: "4.0.0", Analyze: func(*protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
		r := new(protocol.AnalyzeResponse)
		return r, protojson.Unmarshal([]byte(schema), r)
	}}
	own(t)
	a.server = startFake(t, fake, func(ctx context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		word := wordOf(p)
		a.mu.Lock()
		a.told = append(a.told, word)
		a.mu.Unlock()
		switch {
		case a.refuses != "" && strings.HasPrefix(word, a.refuses):
			return errors.New("[NO_WAY] it does not")
		case word == "read nodes" && a.reads != nil:
			close(a.reads)
			<-ctx.Done()
			return ctx.Err()
		case word == "read nodes":
			return rows(t, send, stumpColumns()...)
		case strings.HasPrefix(word, "sql "):
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Sql{Sql: &protocol.SQLResult{Relation: &protocol.Relation{}}}})
		case word == "fit":
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Progress{Progress: &protocol.Progress{Stages: []*protocol.Progress_Stage{{Tasks: 2, DoneTasks: 1}}}}})
			r := &protocol.MLResult{}
			if err := protojson.Unmarshal([]byte(`{"info":{"object":{"id":"model-1"}}}`), r); err != nil {
				return err
			}
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Ml{Ml: r}})
		case word == "write":
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Ml{Ml: &protocol.MLResult{}}})
		}
		return nil
	})
	return a
}

// wordOf says in a word what a plan is.
func wordOf(p *protocol.Plan) string {
	c := p.GetCommand()
	switch {
	case c.GetView() != nil:
		return "view"
	case c.GetSql() != nil:
		return "sql " + strings.Join(strings.Fields(c.GetSql().GetInput().GetSql().GetQuery())[:2], " ")
	case c.GetMl().GetFit() != nil:
		return "fit"
	case c.GetMl().GetWrite() != nil:
		return "write"
	case p.GetRoot() != nil:
		return "read nodes"
	}
	return "something else"
}

// stumpColumns are the nodes of a tree of two classes, as nodeColumns asks for them.
func stumpColumns() []columns.Column {
	whole := func(name string, v ...int64) columns.Column { return columns.Column{Name: name, Values: v} }
	floats := func(name string, v ...float64) columns.Column { return columns.Column{Name: name, Values: v} }
	list := columns.Column{Name: "categories", Type: columns.Type{Kind: columns.Array, Parts: []columns.Field{{Name: "element", Type: columns.Type{Kind: columns.Double}}}},
		Values: []any{nil, nil, nil}, Missing: []bool{true, true, true}}
	return []columns.Column{whole("treeID", 0, 0, 0), whole("id", 0, 1, 2), whole("leftChild", 1, -1, -1), whole("rightChild", 2, -1, -1), whole("featureIndex", 0, -1, -1),
		whole("numCategories", -1, -1, -1), floats("prediction", 0, 0, 1), floats("gain", 0.5, 0, 0), floats("threshold", 0.5, 0, 0), list,
		floats("statistic0", 3, 3, 0), floats("statistic1", 5, 1, 4)}
}

// pair is a dataset of two classes and two columns.
func pair(t *testing.T) *ml.Dataset {
	t.Helper()
	d, err := ml.FromRows([]string{"shots", "Shots"}, [][]float64{{0, 1}, {1, 2}, {0, 3}, {1, 4}})
	if err != nil {
		t.Fatal(err)
	}
	d.Classes, d.Labels, d.Weights = []string{"no", "it's"}, []int{0, 1, 0, 1}, []float64{1, 2, 0, 1}
	return d
}

// TestTrainer: rows go there, the forest comes back by a folder that is removed, and it answers here by our names.
func TestTrainer(t *testing.T) {
	a := newAcademy(t)
	trainer, err := Config{Master: a.URL("patience=2s"), Folder: "dbfs:/tmp/"}.Trainer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %s", trainer, trainer, trainer); strings.Contains(text, "token") || !strings.HasPrefix(text, "Spark 4.0.0 at sc://") {
		t.Errorf("it is called %s", text)
	}
	d := pair(t)
	f, err := forest.FitClassifier(t.Context(), d, forest.Config{Trees: 1, Trainer: trainer})
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.PredictProba(t.Context(), d)
	if err != nil || fmt.Sprint(p) != "[[0.75 0.25] [0 1] [0.75 0.25] [0 1]]" || fmt.Sprintf("%q %q", f.Features, f.Classes) != `["shots" "Shots"] ["no" "it's"]` {
		t.Errorf("probabilities %v, %v of %q and %q", p, err, f.Features, f.Classes)
	}
	if want := []string{"view", "fit", "sql CREATE SCHEMA", "write", "read nodes", "sql DROP SCHEMA"}; !slices.Equal(a.told, want) {
		t.Errorf("it was told %q, want %q", a.told, want)
	}
}

// TestTrainerFails: whatever fails, the folder is removed; without a schema the model still comes.
func TestTrainerFails(t *testing.T) {
	for refuses, want := range map[string]struct {
		err  string
		last string
	}{
		"view":              {"send the rows: ", "view"},
		"fit":               {"NO_WAY", "fit"},
		"write":             {"CANCHA_SPARK_FOLDER", "sql DROP SCHEMA"},
		"read nodes":        {"CANCHA_SPARK_FOLDER", "sql DROP SCHEMA"},
		"sql DROP SCHEMA":   {"stays: ", "sql DROP SCHEMA"},
		"sql CREATE SCHEMA": {"", "read nodes"},
	} {
		a := newAcademy(t)
		a.refuses = refuses
		var logged strings.Builder
		c := Config{Master: a.URL("patience=2s"), Folder: "/models", Logger: slog.New(slog.NewTextHandler(&logged, nil))}
		trainer, err := c.Trainer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = forest.FitClassifier(t.Context(), pair(t), forest.Config{Trees: 1, Trainer: trainer})
		if want.err == "" && err != nil || want.err != "" && (err == nil || !strings.Contains(err.Error(), want.err)) || a.told[len(a.told)-1] != want.last {
			t.Errorf("where %s fails: %v, and the last that it was told of was %q; want %q and %q", refuses, err, a.told[len(a.told)-1], want.err, want.last)
		}
		if stays := strings.Contains(logged.String(), "stay in /models/cancha_"); stays != (refuses == "sql CREATE SCHEMA") {
			t.Errorf("where %s fails it is told that files stay: %v", refuses, stays)
		}
	}
}

// TestTrainerInterrupted: an interrupt of the cell ends a fit, though its context does not end, and the folder is removed all the same.
func TestTrainerInterrupted(t *testing.T) {
	a := newAcademy(t)
	a.reads = make(chan struct{})
	trainer, err := Config{Master: a.URL("patience=2s"), Folder: "/models"}.Trainer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run, ended, d := cellio.NewAside(7), make(chan error, 1), pair(t)
	go run.Do(func() {
		_, err := forest.FitClassifier(context.Background(), d, forest.Config{Trees: 1, Trainer: trainer})
		ended <- err
	})
	<-a.reads
	run.Interrupt()
	if err := <-ended; !errors.Is(err, cellio.ErrInterrupted) {
		t.Errorf("it ended with %v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.told[len(a.told)-1]; last != "sql DROP SCHEMA" {
		t.Errorf("the last that it was told of is %q, want that the schema is dropped", last)
	}
}

// TestTrainerRefuses: what Spark's trees do not know is told before anything is sent.
func TestTrainerRefuses(t *testing.T) {
	a := newAcademy(t)
	trainer, err := Config{Master: a.URL("patience=2s")}.Trainer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	missing, many := pair(t), pair(t)
	missing.Values[2], missing.Missing = float32(math.NaN()), true
	many.Classes = nil
	for i := range 101 {
		many.Classes = append(many.Classes, fmt.Sprint(i))
	}
	d := pair(t)
	d.Groups = []int64{1, 1, 2, 2}
	for want, f := range map[string]struct {
		d *ml.Dataset
		c forest.Config
	}{
		"ByGroup has no counterpart":  {d, forest.Config{ByGroup: true}},
		"ClassWeight has no":          {d, forest.Config{Balanced: true}},
		"MaxDepth 31":                 {d, forest.Config{MaxDepth: 31}},
		`row 1 lacks its "shots"`:     {missing, forest.Config{}},
		"101 classes":                 {many, forest.Config{}},
		"max samples 2 is not":        {d, forest.Config{MaxSamples: 2}},
		"MaxLeafNodes has no counter": {d, forest.Config{MaxLeafNodes: 4}},
	} {
		f.c.Trainer = trainer
		if _, err := forest.FitClassifier(t.Context(), f.d, f.c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if len(a.told) != 0 {
		t.Errorf("it was told %q", a.told)
	}
}

// TestTrainerPanics: a fit whose Progress panics, as a function of a cell does at an interrupt, leaves no session there.
func TestTrainerPanics(t *testing.T) {
	a := newAcademy(t)
	trainer, err := Config{Master: a.URL("patience=2s")}.Trainer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if p := recover(); p != "enough" {
				t.Errorf("got %v, want the panic as it was", p)
			}
		}()
		forest.FitClassifier(t.Context(), pair(t), forest.Config{Trees: 1, Trainer: trainer, Progress: func(int, int) { panic("enough") }})
	}()
	if !a.Closed(a.session()) || len(remembering(t)) != 0 {
		t.Error("the fit has ended, and its session is still there")
	}
}

// TestSendBatches: a dataset of several messages has each row once, in views by the same name for the same rows.
func TestSendBatches(t *testing.T) {
	a := newAcademy(t)
	s, err := Config{Master: a.URL("patience=2s")}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const rows = 2_000_000
	d := &ml.Dataset{Features: []string{"x"}, Values: make([]float32, rows), Targets: make([]float64, rows)}
	frame, err := s.send(t.Context(), d, false)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.told); n != 3 || frame.relation.GetSet() == nil {
		t.Errorf("%d rows went in %d views, want 3", rows, n)
	}
}

// TestBringRefuses: nodes that are damaged, or a model of another kind, are an error.
func TestBringRefuses(t *testing.T) {
	for want, c := range map[string]columns.Column{"leads to node 0": {Name: "rightChild", Values: []int64{0, -1, -1}}, "is it a forest?": {Name: "rightChild", Values: []string{"", "", ""}}} {
		b := &columns.Batch{Rows: 3, Columns: stumpColumns()}
		b.Columns[3] = c
		table := trees.New(2)
		err := addNodes(table, b)
		if err == nil {
			err = table.Divide()
		}
		if err == nil {
			_, err = table.Build(1, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	m := &Model{class: regression + "GBTRegressionModel"}
	if _, err := m.Regressor(t.Context()); err == nil || !strings.Contains(err.Error(), "cancha/spark/mllib") {
		t.Errorf("boosted trees: %v", err)
	}
}
