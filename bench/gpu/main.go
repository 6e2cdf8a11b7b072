// Command gpu measures the machine's GPU beside its CPU and writes what notebook 05 shows where there is no GPU:
//
//	eval "$(scripts/cuda-env.sh headers)"; go build -trimpath -tags nvidia -o gpubench ./bench/gpu
//	./gpubench -out bench/results
//
// The file is gpu-DEVICE-DATE.json, and small-DEVICE-DATE.json with -small. reference.py measures PyTorch and CuPy on the same device.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/nn"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/compare"
)

func main() {
	out := flag.String("out", ".", "write the result into this `folder`")
	small := flag.Bool("small", false, "try everything on small sizes, whose times say nothing")
	copying := flag.Bool("copies", false, "measure copies alone, and print them as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *copying {
		printCopies(ctx, *small)
		return
	}
	if err := run(ctx, *out, *small); err != nil {
		fmt.Fprintln(os.Stderr, "gpubench:", err)
		os.Exit(1)
	}
}

// printCopies prints what copies of 256 MiB reach.
func printCopies(ctx context.Context, small bool) {
	n := 64 << 20
	if small {
		n = 1 << 16
	}
	c, err := copies(ctx, n, 7)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpubench: copies:", err)
		os.Exit(1)
	}
}

// run measures the sizes of the notebook, and then those at which a GPU shows what it can do.
func run(ctx context.Context, out string, small bool) error {
	if err := os.MkdirAll(out, 0o755); err != nil { // before what takes minutes
		return err
	}
	common, large := compare.Config{}, compare.Config{Elements: 100_000_000, Matrix: 4096, Images: 32, Times: 3}
	rows := 1600
	if small {
		common, large, rows = compare.Config{Elements: 1000, Matrix: 32, Images: 1}, compare.Config{Elements: 3000, Matrix: 64, Images: 1, Times: 1}, 130
	}
	few, many := 100_000, 1_000_000
	shallow, deep := fitting(many, forest.Config{Trees: fitTrees, MaxDepth: 6, MaxFeatures: forest.All}), fitting(few, forest.Config{Trees: fitTrees, MaxDepth: depth})
	if small { // but for the fits, which need nodes that are wide
		few, many = 300, 700
		shallow, deep = fitting(9000, forest.Config{Trees: 1, MaxDepth: 2, MaxFeatures: forest.All}), fitting(9000, forest.Config{Trees: 1, MaxDepth: 2})
	}
	f, err := grow(ctx, min(few, 20_000))
	if err != nil {
		return err
	}
	common.Works = []compare.Work{network(rows), prediction(f, few), deep}
	large.Works = []compare.Work{prediction(f, many), shallow}
	result, err := compare.Run(ctx, common)
	if err != nil {
		return err
	}
	more, err := compare.Run(ctx, large)
	if err != nil {
		return err
	}
	result.Rows = append(result.Rows, more.Rows...)
	fmt.Println(result)
	kind := "gpu-"
	if small { // not one that notebook 05 reads
		kind = "small-"
	}
	return result.Save(filepath.Join(out, kind+name(result.GPU.Device)+"-"+result.Date+".json"))
}

// name is a device's as a part of a file's name; "none" where there is no device.
func name(device string) string {
	return cmp.Or(strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(device), "-"), "-"), "none")
}

// The table of the forest, whose columns are numbers without sense, and three classes.
const (
	columns  = 30
	trees    = 100
	depth    = 12
	fitTrees = 20
)

// table has rows for the forest, always the same.
func table(rows int) *ml.Dataset {
	d, r := &ml.Dataset{Classes: []string{"a", "b", "c"}}, rand.New(rand.NewPCG(3, 4))
	for i := range columns {
		d.Features = append(d.Features, fmt.Sprint("column ", i))
	}
	for range rows {
		row, sum := make([]float32, columns), float32(0)
		for k := range row {
			row[k] = float32(r.NormFloat64())
			sum += row[k] * float32(k%5-2)
		}
		d.Values = append(d.Values, row...)
		d.Labels = append(d.Labels, min(2, max(0, int(sum/4+1))))
	}
	return d
}

// grow grows the forest.
func grow(ctx context.Context, rows int) (*forest.Classifier, error) {
	return forest.FitClassifier(ctx, table(rows), forest.Config{Trees: trees, MaxDepth: depth, Seed: 1})
}

// prediction is the forest's answers for a table. Its nodes go to a GPU once, with the first.
func prediction(f *forest.Classifier, rows int) compare.Work {
	d := table(rows)
	var placed *forest.SessionClassifier
	var in *gpu.Session
	return compare.Work{
		Name: "forest prediction", Size: fmt.Sprintf("%d rows × %d, %d trees of depth %d", rows, columns, trees, depth),
		Run: func(ctx context.Context, s *gpu.Session) (err error) {
			if in != s {
				if placed, err = f.On(s); err != nil {
					return err
				}
				in = s
			}
			_, err = placed.PredictProba(ctx, d)
			return err
		},
	}
}

// fitting is the growing of a forest. A GPU counts its wide nodes, which are most of the work where trees are shallow and every split looks at all
// columns.
func fitting(rows int, c forest.Config) compare.Work {
	d := table(rows)
	looked := "the root of its columns"
	if c.MaxFeatures == forest.All {
		looked = "all columns"
	}
	return compare.Work{
		Name: "forest fit", Size: fmt.Sprintf("%d rows × %d, %d × depth %d, %s a split", rows, columns, c.Trees, c.MaxDepth, looked),
		Run: func(ctx context.Context, s *gpu.Session) error {
			c.Session = s
			_, err := forest.FitClassifier(ctx, d, c)
			return err
		},
	}
}

// network is the training of notebook 05, by the same name.
func network(rows int) compare.Work {
	d, r := &ml.Dataset{Classes: strings.Split("0123456789", "")}, rand.New(rand.NewPCG(1, 2))
	for i := range 784 {
		d.Features = append(d.Features, fmt.Sprint("pixel ", i))
	}
	for i := range rows {
		d.Labels = append(d.Labels, i%10)
		for range 784 {
			d.Values = append(d.Values, r.Float32())
		}
	}
	return compare.Work{
		Name: "network training", Size: fmt.Sprintf("%d rows, 784-256-10", rows),
		Flops: 6 * (784*256 + 256*10) * float64(rows),
		Run: func(ctx context.Context, s *gpu.Session) error {
			_, err := nn.Fit(ctx, d, nn.Config{Epochs: 1, Session: s})
			return err
		},
	}
}
