package eval_test

import (
	"strings"
	"testing"
)

// TestAbilities: a library that is given a value of a cell's type as one interface sees what else the value is, or the cell is refused.
func TestAbilities(t *testing.T) {
	once(t)
	const sink = `import ("cancha/stream"; "cancha/runtime/session")
type S struct{}
func (S) Write(context.Context, int64, *stream.Rows) error { return nil }
`
	const model = `import ("cancha/ml"; "cancha/runtime/session")
type M struct{}
func (M) Score(context.Context, *ml.Dataset) (float64, error) { return 1, nil }
func (M) Save(string) error { return nil }
`
	const cross = `learn := func(context.Context, *ml.Dataset) (ml.Model, error) { return M{}, nil }
d := &ml.Dataset{Features: []string{"a"}, Values: []float32{1, 2, 3, 4}, Classes: []string{"x", "y"}, Labels: []int{0, 1, 0, 1}}
folds := []ml.Split{{Train: []int{0, 1}, Test: []int{2, 3}}, {Train: []int{2, 3}, Test: []int{0, 1}}}
_, err := ml.`
	const predict = "(session.Context(), d, folds, learn)\nfmt.Print(err)"
	for _, c := range []struct{ name, cell, want, refused string }{
		{"a sink", sink + `
r, err := stream.From(stream.Memory("m", [][]stream.Record{{{Value: []byte("{}")}}})).Select("@offset").To(S{}).Start(session.Context())
fmt.Print(err, r.Wait(session.Context()))`, "<nil> <nil>", ""},
		{"a sink that is closed", sink + `func (S) Close() error { return errors.New("closed") }
r, err := stream.From(stream.Memory("m", [][]stream.Record{{{Value: []byte("{}")}}})).Select("@offset").To(S{}).Start(session.Context())
fmt.Print(err, r.Wait(session.Context()))`, "closed", "hides its methods of stream.Closer"},
		{"a classifier", model + `func (M) Predict(_ context.Context, d *ml.Dataset) ([]int, error) { return make([]int, d.Rows()), nil }
func (M) PredictProba(_ context.Context, d *ml.Dataset) ([][]float64, error) { return nil, errors.New("asked") }
` + cross + "CrossPredictProba" + predict, "asked", ""},
		{"a regressor", model + `func (M) Predict(_ context.Context, d *ml.Dataset) ([]float64, error) { return nil, errors.New("asked") }
` + cross + "CrossPredict" + predict, "asked", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNotebook(t)
			if tools(t) == nil && c.refused != "" {
				if r := n.run(c.cell); r.Err == nil || !strings.Contains(r.Err.Value, c.refused) {
					t.Fatalf("got %v, want %q", r.Err, c.refused)
				}
				return
			}
			n.ok(c.cell)
			if got := n.stream("stdout"); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
