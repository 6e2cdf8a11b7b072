package operation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"cancha/internal/exactjson"
	"cancha/jobs/folder"
	"cancha/jobs/worker"
	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/gpu"
)

// ForestFit is the type of a job that grows a forest on a file and saves it in another.
const ForestFit = "forest_fit"

// extension is the one that a model's file has.
const extension = ".forest"

// Forest is what such a job asks for. Its files are named from the worker's folder, and lie in it: see package folder for what is read and
// what is replaced.
type Forest struct {
	Data string `json:"data"` // comma-separated values, whose first row names the columns
	Out  string `json:"out"`  // the model, whose name ends with .forest; "": models/JOB.forest

	// What the columns are: see ml.Roles. Label makes it a classifier, Target a regressor; one of them is needed.
	Label    string   `json:"label"`
	Target   string   `json:"target"`
	Group    string   `json:"group"`
	Weight   string   `json:"weight"`
	Features []string `json:"features"`
	Drop     []string `json:"drop"`
	OneHot   []string `json:"one_hot"`
	Missing  bool     `json:"missing"`

	// How it is grown: see forest.Config, by scikit-learn's names.
	Trees          int     `json:"n_estimators"`
	MaxDepth       int     `json:"max_depth"`
	MaxFeatures    float64 `json:"max_features"` // a count, or a fraction below 1; 0: the square root for classes, all for numbers
	MinSamplesLeaf int     `json:"min_samples_leaf"`
	Seed           uint64  `json:"random_state"`
	Balanced       bool    `json:"balanced"`
}

// Fitted is what such a job returns. The score is that of rows that trees have not seen: the accuracy, or R² of a regressor.
type Fitted struct {
	Out      string   `json:"out"`
	Rows     int      `json:"rows"`
	Features []string `json:"features"`
	Classes  []string `json:"classes,omitempty"`
	Trees    int      `json:"trees"`
	Nodes    int      `json:"nodes"`
	OOBScore *float64 `json:"oob_score"` // null: there are no such rows
	Seconds  float64  `json:"seconds"`   // of growing
}

// Forests is the function of jobs that grow forests on the files of a folder, in a session.
func Forests(path string, s *gpu.Session) worker.Func {
	return func(ctx context.Context, t *worker.Task) (any, error) {
		o, err := readForest(t)
		if err != nil {
			return nil, worker.Final(err)
		}
		files, err := folder.Open(path)
		if err != nil {
			return nil, err
		}
		defer files.Close()
		if err := files.MayWriteContext(ctx, o.Out); err != nil { // before hours of growing
			return nil, fmt.Errorf("out: %w", err)
		}
		d, err := o.dataset(files)
		if err != nil {
			return nil, err
		}
		return o.fit(ctx, files, t.ID, d, o.config(s, t))
	}
}

func readForest(t *worker.Task) (o Forest, err error) {
	if err := exactjson.Read(t.Parameters, &o); err != nil {
		return o, fmt.Errorf("parameters of a forest: %w", err)
	}
	if o.Out == "" {
		o.Out = filepath.Join("models", folder.NameOf(t.ID)+extension)
	}
	if !strings.EqualFold(filepath.Ext(o.Out), extension) { // the go command alone reads a dozen others, and knows more of them with each release
		return o, fmt.Errorf("out: %q is no name of a model, and may be that of something that jobs run, or that a build reads; end it with %s", o.Out, extension)
	}
	if (o.Label == "") == (o.Target == "") {
		return o, errors.New("name the column to learn: a label (classes) or a target (numbers), and not both")
	}
	return o, nil
}

// dataset reads the rows. Where the file is there and is not what was asked for, trying again does not help.
func (o Forest) dataset(files *folder.Folder) (*ml.Dataset, error) {
	file, err := files.Open(o.Data)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	d, err := ml.ReadCSV(&lines{from: file}, ml.Roles{Label: o.Label, Target: o.Target, Group: o.Group, Weight: o.Weight,
		Features: o.Features, Drop: o.Drop, OneHot: o.OneHot, Missing: o.Missing})
	if err != nil {
		return nil, worker.Final(fmt.Errorf("%s: %w", o.Data, err))
	}
	return d, nil
}

// longestLine is how long a line of data is at most, bytes: a row lies in memory as text, and a file without lines would do so as a whole.
const longestLine = 16 << 20

// lines reads what has lines of longestLine at most.
type lines struct {
	from io.Reader
	n    int // bytes since the last end of a line
}

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		l.n = n - 1 - end
	} else {
		l.n += n
	}
	if l.n > longestLine {
		return 0, fmt.Errorf("a line of more than %d MB: this is no file of comma-separated values", longestLine>>20)
	}
	return n, err
}

func (o Forest) config(s *gpu.Session, t *worker.Task) forest.Config {
	return forest.Config{Trees: o.Trees, MaxDepth: o.MaxDepth, MaxFeatures: o.MaxFeatures, MinSamplesLeaf: o.MinSamplesLeaf, Seed: o.Seed, Balanced: o.Balanced,
		ByGroup: o.Group != "", OOB: true, Session: s,
		Progress: func(done, total int) {
			t.Progress(float64(done)/float64(total), fmt.Sprintf("tree %d of %d", done, total))
		}}
}

// grown is a forest of either kind.
type grown interface {
	Nodes() int
	Encode() ([]byte, error)
}

func (o Forest) fit(ctx context.Context, files *folder.Folder, id string, d *ml.Dataset, c forest.Config) (*Fitted, error) {
	begin := time.Now()
	model, out, err := o.grow(ctx, d, c)
	if _, device := c.Session.Devices(); err != nil && device == nil && ctx.Err() == nil {
		err = worker.Final(err) // the CPU grows the same from the same again
	}
	if err != nil {
		return nil, err
	}
	out.Seconds, out.Nodes, out.Rows, out.Out = time.Since(begin).Seconds(), model.Nodes(), d.Rows(), o.Out
	data, err := model.Encode()
	if err != nil {
		return nil, worker.Final(err)
	}
	if err := files.WriteContext(ctx, id, o.Out, data); err != nil {
		return nil, fmt.Errorf("out: %w", err)
	}
	return out, nil
}

func (o Forest) grow(ctx context.Context, d *ml.Dataset, c forest.Config) (grown, *Fitted, error) {
	if o.Label != "" {
		f, err := forest.FitClassifier(ctx, d, c)
		if err != nil {
			return nil, nil, err
		}
		return f, &Fitted{Features: f.Features, Classes: f.Classes, Trees: len(f.Trees()), OOBScore: number(f.OOBScore)}, nil
	}
	f, err := forest.FitRegressor(ctx, d, c)
	if err != nil {
		return nil, nil, err
	}
	return f, &Fitted{Features: f.Features, Trees: len(f.Trees()), OOBScore: number(f.OOBScore)}, nil
}

// number is null in JSON where it is none.
func number(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}
