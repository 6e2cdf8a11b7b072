package spark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"cancha/internal/cellio"
	"cancha/internal/running"
	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/display"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/protocol"
)

// Trainer grows forests of package forest on the server at an address like sc://host:15002: forest.Config{Trainer: trainer}. The rows go there in batches, the
// forest is grown as FitForest does it, and comes here as [Model.Classifier] does. It asks the server for its version, and keeps no session: each fit has
// one of its own. What is not as here is told once, in the running cell and to Config.Logger; a setting without a counterpart is an error by its name.
func Trainer(ctx context.Context, master string) (forest.Trainer, error) {
	return Config{Master: master}.Trainer(ctx)
}

// Trainer is [Trainer] with further settings, which each fit's session gets.
func (c Config) Trainer(ctx context.Context) (forest.Trainer, error) {
	if err := c.alone(); err != nil {
		return nil, err
	}
	c.fill()
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	t := &trainer{config: c, name: fmt.Sprintf("Spark %s at sc://%s", s.Version(), s.master)}
	return t, s.Close()
}

// trainer implements forest.Trainer.
type trainer struct {
	config Config
	name   string

	mu   sync.Mutex
	told map[string]bool // sentences
}

// String implements forest.Trainer.
func (t *trainer) String() string { return t.name }

// Format implements fmt.Formatter: every verb writes String.
func (t *trainer) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.name) }

// FitClassifier implements forest.Trainer.
func (t *trainer) FitClassifier(ctx context.Context, d *ml.Dataset, c forest.Config) (f *forest.Classifier, err error) {
	err = t.fit(ctx, d, c, true, func(ctx context.Context, m *Model) error {
		if f, err = m.Classifier(ctx); err == nil {
			f.Features, f.Classes = d.Features, d.Classes
		}
		return err
	})
	return f, err
}

// FitRegressor implements forest.Trainer.
func (t *trainer) FitRegressor(ctx context.Context, d *ml.Dataset, c forest.Config) (f *forest.Regressor, err error) {
	err = t.fit(ctx, d, c, false, func(ctx context.Context, m *Model) error {
		if f, err = m.Regressor(ctx); err == nil {
			f.Features = d.Features
		}
		return err
	})
	return f, err
}

// fit grows a forest in a session of its own, and hands it to take while it is there.
func (t *trainer) fit(ctx context.Context, d *ml.Dataset, c forest.Config, classes bool, take func(context.Context, *Model) error) error {
	progress := c.Progress
	c.Progress = nil
	_, notes, err := forestParams(c, classes)
	if err == nil {
		err = sendable(d, classes)
	}
	if err != nil {
		return err
	}
	t.tell(notes)
	ctx, stop := joined(ctx)
	defer stop()
	kind := map[bool]string{true: "classifier", false: "regressor"}[classes]
	job := running.NewJob(running.Fit, fmt.Sprintf("random forest, %s, on %s", kind, t.name), 0, "tasks")
	job.Handle(int64(d.Rows()), 4*int64(len(d.Values)))
	return job.Do(func() (err error) {
		s, err := t.connect(ctx, job, progress)
		if err != nil {
			return err
		}
		defer func() { // with what it keeps there, rows and model; also where progress panics
			if closed := s.Close(); err == nil {
				err = closed
			}
		}()
		m, err := s.fitDataset(ctx, d, c, classes)
		if err != nil {
			return err
		}
		t.tell(m.Notes)
		return take(ctx, m)
	})
}

// connect makes a fit's session, which tells of its tasks: the list of what runs, and progress; where that is nil the cell shows a bar.
func (t *trainer) connect(ctx context.Context, job *running.Job, progress func(done, total int)) (*Session, error) {
	c := t.config
	if progress != nil && c.Progress == nil {
		c.Progress = func(Stages) {} // no bar beside that of the caller
	}
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.told = func(note string) { t.tell([]string{note}) }
	var before, seen int64 // done tasks of operations that are over, and of this one
	s.watched = func(p Stages) {
		done, all := p.Tasks()
		if done < seen {
			before += seen
		}
		if more := done - seen; more > 0 {
			job.Advance(int(more))
		}
		seen = done
		if progress != nil && all > 0 {
			progress(int(before+done), int(before+all))
		}
	}
	return s, nil
}

// tell shows sentences in the running cell, each once.
func (t *trainer) tell(notes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, note := range notes {
		if t.told[note] {
			continue
		}
		if t.told == nil {
			t.told = map[string]bool{}
		}
		t.told[note] = true
		t.config.Logger.Info("spark: " + note)
		if cellio.CurrentRun() != nil {
			display.Show(sentence(t.name + ": " + note))
		}
	}
}

// sentence is a text that is shown without quotes.
type sentence string

// String implements fmt.Stringer.
func (s sentence) String() string { return string(s) }

// sendable names what of a dataset Spark's trees do not take.
func sendable(d *ml.Dataset, classes bool) error {
	if classes && len(d.Classes) > mostClasses {
		return fmt.Errorf("spark: the dataset has %d classes, and Spark's forests tell %d apart at most; train here", len(d.Classes), mostClasses)
	}
	for i, v := range d.Values {
		if v != v {
			return fmt.Errorf("spark: row %d lacks its %q: Spark's trees take no row with a missing feature; fill it, leave the row out, or train here",
				i/len(d.Features), d.Features[i%len(d.Features)])
		}
	}
	if d.Weights != nil && !slices.ContainsFunc(d.Weights, func(w float64) bool { return w > 0 }) {
		return errors.New("spark: no row weighs more than 0")
	}
	return nil
}

// What the columns of a dataset are called there. Spark takes names for the same that differ in the case of letters only, and features may be called anything.
const (
	learned = "y"
	weighed = "w"
)

func featureColumn(k int) string { return "x" + strconv.Itoa(k) }

// fitDataset sends a dataset and grows a forest of it.
func (s *Session) fitDataset(ctx context.Context, d *ml.Dataset, c forest.Config, classes bool) (*Model, error) {
	frame, err := s.send(ctx, d, classes)
	if err != nil {
		return nil, fmt.Errorf("spark: send the rows: %w", err)
	}
	return s.fitForest(ctx, frame, sentRoles(d, classes), c)
}

// sentRoles are the roles of the columns of a dataset that was sent.
func sentRoles(d *ml.Dataset, classes bool) ml.Roles {
	var r ml.Roles
	for k := range d.Features {
		r.Features = append(r.Features, featureColumn(k))
	}
	if d.Weights != nil {
		r.Weight = weighed
	}
	if !classes {
		r.Target = learned
		return r
	}
	r.Label = learned
	for k := range d.Classes {
		r.Classes = append(r.Classes, strconv.Itoa(k))
	}
	return r
}

// sentBytes is how large a batch is on its way, about: far below what a server takes in one message, 128 MB, and few enough calls.
const sentBytes = 16_000_000

// send leaves the rows of a dataset on the server, in views of the session of a batch each, and returns them all as one frame.
func (s *Session) send(ctx context.Context, d *ml.Dataset, classes bool) (*DataFrame, error) {
	width := 8 * (len(d.Features) + 2)
	if d.Exact == nil {
		width = 4*len(d.Features) + 16
	}
	var all *DataFrame
	for from, step := 0, max(1, sentBytes/width); from < d.Rows(); from += step {
		part := d.Slice(from, min(from+step, d.Rows()))
		b := batchOfDataset(part, classes)
		if b.Rows == 0 {
			continue
		}
		data, err := columns.Write(b)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("cancha_rows_%d", from)
		local := s.frame(&protocol.Relation{Of: &protocol.Relation_Local{Local: &protocol.Local{Data: data}}})
		if err := local.View(ctx, name); err != nil {
			return nil, err
		}
		if all == nil {
			all = s.Table(name)
		} else {
			all = all.Union(s.Table(name))
		}
	}
	return all, nil
}

// batchOfDataset is the rows of a dataset that count, in columns: those that weigh nothing would be leaves without a probability there.
func batchOfDataset(d *ml.Dataset, classes bool) *columns.Batch {
	var rows []int
	for i := range d.Rows() {
		if d.Weight(i) > 0 {
			rows = append(rows, i)
		}
	}
	kind := columns.Type{Kind: columns.Double}
	if d.Exact == nil {
		kind.Kind = columns.Float
	}
	b := &columns.Batch{Rows: len(rows)}
	add := func(name string, t columns.Type, of func(row int) float64) {
		values := make([]float64, len(rows))
		for i, row := range rows {
			values[i] = of(row)
		}
		b.Columns = append(b.Columns, columns.Column{Name: name, Type: t, Values: values})
	}
	for k := range d.Features {
		add(featureColumn(k), kind, func(row int) float64 { return d.At(row, k) })
	}
	if classes {
		labels := make([]int64, len(rows))
		for i, row := range rows {
			labels[i] = int64(d.Labels[row])
		}
		b.Columns = append(b.Columns, columns.Column{Name: learned, Values: labels})
	} else {
		add(learned, columns.Type{Kind: columns.Double}, func(row int) float64 { return d.Targets[row] })
	}
	if d.Weights != nil {
		add(weighed, columns.Type{Kind: columns.Double}, d.Weight)
	}
	return b
}
