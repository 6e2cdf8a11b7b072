package mllib

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	pq "github.com/parquet-go/parquet-go"

	"cancha/ml/forest"
)

// split and end are rows of a tree: a split of a feature at a threshold, one at a set of categories, and a leaf of two classes.
func split(id, left, right, feature int32, threshold float64) nodeData {
	return nodeData{ID: id, ImpurityStats: []float64{1, 1}, LeftChild: left, RightChild: right, Split: splitData{feature, []float64{threshold}, -1}}
}

func set(id, left, right, feature, categories int32, toLeft ...float64) nodeData {
	return nodeData{ID: id, ImpurityStats: []float64{1, 1}, LeftChild: left, RightChild: right, Split: splitData{feature, toLeft, categories}}
}

func end(id int32, stats ...float64) nodeData {
	return nodeData{ID: id, ImpurityStats: stats, Gain: -1, LeftChild: -1, RightChild: -1, Split: splitData{-1, nil, -1}}
}

// stump is a tree of one split.
func stump() []nodeData { return []nodeData{split(0, 1, 2, 0, .5), end(1, 3, 1), end(2, 0, 4)} }

// parquetOf returns the bytes of a file of rows.
func parquetOf[T any](t testing.TB, rows []T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[T](&b, options()...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inTrees returns rows of a forest.
func inTrees(trees ...[]nodeData) (rows []dataRow) {
	for k, nodes := range trees {
		for _, n := range nodes {
			rows = append(rows, dataRow{int32(k), n})
		}
	}
	return rows
}

// line returns the metadata of a model.
func line(class string, features, classes, trees int) string {
	text, err := json.Marshal(metadata{Class: class, SparkVersion: "3.5.1", UID: "x", NumFeatures: features, NumClasses: classes, NumTrees: trees})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// files returns a model of two features and two classes.
func files(t testing.TB, rows []dataRow, trees int) fstest.MapFS {
	return fstest.MapFS{
		"metadata/part-00000":           {Data: []byte(line(forestClassification, 2, 2, trees) + "\n")},
		"metadata/_SUCCESS":             {},
		"data/_SUCCESS":                 {},
		"data/part-0.snappy.parquet":    {Data: parquetOf(t, rows)},
		"data/.part-0.tmp.snappy.crc":   {Data: []byte("of no file")},
		"treesMetadata/part-0.parquet":  {Data: []byte("not asked")},
		"treesMetadata/_temporary/0/no": {Data: []byte("nothing")},
	}
}

// proba returns the probabilities for a row.
func proba(f *forest.Classifier, row ...float64) []float64 {
	return direct(f.Trees(), [][]float64{row})[0]
}

// TestByHand: a model of two trees, in one file and in two, whose nodes are in no order.
func TestByHand(t *testing.T) {
	other := []nodeData{set(0, 1, 2, 1, 4, 0, 3), end(1, 1, 0), split(2, 3, 4, 0, -1), end(3, 1, 3), end(4, 0, 9)}
	rows := inTrees(stump(), other)
	slices.Reverse(rows)
	one := files(t, rows, 2)
	two := files(t, rows[:3], 2)
	two["data/part-1.parquet"] = &fstest.MapFile{Data: parquetOf(t, rows[3:])}
	for name, dir := range map[string]fstest.MapFS{"one file": one, "two": two} {
		f, err := openClassifier(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if fmt.Sprint(f.Features, f.Classes) != "[f0 f1] [0 1]" {
			t.Errorf("%s: got %v %v", name, f.Features, f.Classes)
		}
		for _, test := range []struct {
			row  []float64
			want float64 // of class 1
		}{{[]float64{0, 0}, .125}, {[]float64{0, 1}, .625}, {[]float64{-2, 2}, .5}, {[]float64{.5, 3}, .125}, {[]float64{.6, 3}, .5}, {[]float64{9, 2}, 1}} {
			if got := proba(f, test.row...); math.Abs(got[1]-test.want) > 1e-15 {
				t.Errorf("%s: %v: got %v, want %v", name, test.row, got, test.want)
			}
		}
	}
}

// TestCategories: trees of many sets of categories, of features that come again below, go the way that Spark's go.
func TestCategories(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const features = 3
	arity := [features]int32{5, 2, 9}
	for round := range 60 {
		var nodes []nodeData
		var grow func(depth int) int32
		grow = func(depth int) int32 {
			id := int32(len(nodes))
			nodes = append(nodes, nodeData{})
			if depth == 0 || r.IntN(6) == 0 {
				nodes[id] = end(id, float64(id), float64(len(nodes)))
				return id
			}
			feature := r.Int32N(features)
			var left []float64
			for c := range arity[feature] {
				if r.IntN(2) == 0 {
					left = append(left, float64(c))
				}
			}
			at, right := grow(depth-1), grow(depth-1)
			nodes[id] = set(id, at, right, feature, arity[feature], left...)
			return id
		}
		grow(5)
		dir := files(t, inTrees(nodes), 1)
		dir["metadata/part-00000"].Data = []byte(line(forestClassification, features, 2, 1))
		f, err := openClassifier(dir)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for a := range arity[0] {
			for b := range arity[1] {
				for c := range arity[2] {
					row := []float64{float64(a), float64(b), float64(c)}
					n := nodes[0]
					for n.LeftChild >= 0 {
						next := n.RightChild
						if slices.Contains(n.Split.LeftCategoriesOrThreshold, row[n.Split.FeatureIndex]) {
							next = n.LeftChild
						}
						n = nodes[next]
					}
					want := n.ImpurityStats[1] / (n.ImpurityStats[0] + n.ImpurityStats[1])
					if got := proba(f, row...)[1]; math.Abs(got-want) > 1e-15 {
						t.Fatalf("round %d: %v: got %v, want %v, of leaf %d", round, row, got, want, n.ID)
					}
				}
			}
		}
	}
}

// TestNoCategory: what is no category counts as the nearest.
func TestNoCategory(t *testing.T) {
	f, err := openClassifier(files(t, inTrees([]nodeData{set(0, 1, 2, 1, 4, 1, 3), end(1, 1, 0), end(2, 0, 1)}), 1))
	if err != nil {
		t.Fatal(err)
	}
	for v, right := range map[float64]float64{-1: 1, 0: 1, .4: 1, .6: 0, 1.4: 0, 1.6: 1, 2.5: 1, 3: 0, 7: 0} {
		if got := proba(f, 0, v); got[1] != right {
			t.Errorf("%v: got %v, want %v on the right", v, got, right)
		}
	}
}

// TestHostile: one thing wrong in a good model is an error that says what and where.
func TestHostile(t *testing.T) {
	with := func(change func(nodes []nodeData)) []dataRow {
		nodes := stump()
		change(nodes)
		return inTrees(nodes)
	}
	for _, test := range []struct {
		name string
		rows []dataRow
		want string
	}{
		{"a child that is not there", with(func(n []nodeData) { n[0].RightChild = 7 }), "node 0 of tree 0 leads to node 7"},
		{"a child twice", with(func(n []nodeData) { n[0].RightChild = 1 }), "leads to node 1, which is none of its own"},
		{"its own child", with(func(n []nodeData) { n[0].LeftChild = 0 }), "leads to node 0"},
		{"a child before everything", with(func(n []nodeData) { n[0].LeftChild = math.MinInt32 }), "leads to node -2147483648"},
		{"no way", with(func(n []nodeData) { n[0] = end(0, 1, 1) }), "no way leads to node 1 of tree 0"},
		{"an id twice", with(func(n []nodeData) { n[2].ID = 1 }), "node 1 where node 2 is missing"},
		{"no root", with(func(n []nodeData) { n[0].ID = 3 }), "node 1 where node 0 is missing"},
		{"a feature", with(func(n []nodeData) { n[0].Split.FeatureIndex = 2 }), "asks for feature 2 of 2"},
		{"a feature below", with(func(n []nodeData) { n[0].Split.FeatureIndex = -1 }), "asks for feature -1"},
		{"NaN", with(func(n []nodeData) { n[0].Split.LeftCategoriesOrThreshold[0] = math.NaN() }), "splits at NaN"},
		{"infinity", with(func(n []nodeData) { n[0].Split.LeftCategoriesOrThreshold[0] = math.Inf(-1) }), "splits at -Inf"},
		{"no threshold", with(func(n []nodeData) { n[0].Split.LeftCategoriesOrThreshold = nil }), "splits at 0 thresholds"},
		{"two thresholds", with(func(n []nodeData) { n[0].Split.LeftCategoriesOrThreshold = []float64{1, 2} }), "splits at 2 thresholds"},
		{"no categories", with(func(n []nodeData) { n[0].Split = splitData{1, nil, 0} }), "splits at 0 categories"},
		{"categories below", with(func(n []nodeData) { n[0].Split = splitData{1, nil, -2} }), "splits at -2 categories"},
		{"a category too many", with(func(n []nodeData) { n[0].Split = splitData{1, []float64{3}, 3} }), "sends category 3 of 3"},
		{"half a category", with(func(n []nodeData) { n[0].Split = splitData{1, []float64{.5}, 3} }), "sends category 0.5 of 3"},
		{"a category below", with(func(n []nodeData) { n[0].Split = splitData{1, []float64{-1}, 3} }), "sends category -1 of 3"},
		{"three classes", with(func(n []nodeData) { n[1].ImpurityStats = []float64{1, 2, 3} }), "more than 2 numbers"},
		{"one class", with(func(n []nodeData) { n[1].ImpurityStats = []float64{1} }), "node 1 of tree 0 has 1 statistics, and its model 2"},
		{"no weight", with(func(n []nodeData) { n[1].ImpurityStats = []float64{0, 0} }), "leaf 1 of tree 0 have a weight of 0"},
		{"a weight below", with(func(n []nodeData) { n[1].ImpurityStats = []float64{2, -1} }), "has -1 rows of class 1"},
		{"NaN rows", with(func(n []nodeData) { n[1].ImpurityStats = []float64{2, math.NaN()} }), "has NaN rows of class 1"},
		{"endless rows", with(func(n []nodeData) { n[1].ImpurityStats = []float64{math.MaxFloat64, math.MaxFloat64} }), "a weight of +Inf"},
		{"a tree missing", inTrees(nil, stump()), "a tree 1 and no tree 0"},
		{"no nodes", nil, "no nodes in data"},
		{"two trees", inTrees(stump(), stump()), "speak of 1 trees, and data has 2"},
	} {
		if _, err := openClassifier(files(t, test.rows, 1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := openClassifier(files(t, inTrees(stump()), 1)); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

// TestMetadata: what the first line may not say.
func TestMetadata(t *testing.T) {
	for _, test := range []struct {
		name, line, want string
	}{
		{"nothing", "", "files of metadata are empty"},
		{"no JSON", "\x1f\x8b\x08", "metadata/part-00000 is no metadata of a model"},
		{"no class", "{}", "does not name the class"},
		{"numbers", line(forestRegression, 2, 0, 1), "regression.RandomForestRegressionModel; open it as the other kind"},
		{"boosted", line(boostedClassification, 2, 2, 1), "logarithm of odds"},
		{"another model", line(classification+"LogisticRegressionModel", 2, 2, 1), "it is a classification.LogisticRegressionModel"},
		{"pipeline", line(pipeline, 0, 0, 0), "open the directory of its forest, and do"},
		{"no classes", line(forestClassification, 2, 0, 1), "how many classes"},
		{"many classes", line(forestClassification, 2, 1<<30, 1), "up to 262144 and 65536"},
		{"many features", line(forestClassification, 1<<30, 2, 1), "up to 262144 and 65536"},
		{"trees below", line(forestClassification, 2, 2, -1), "-1 trees"},
		{"names", strings.Replace(line(forestClassification, 2, 2, 1), "{", `{"featureNames":["a"],`, 1), "1 featureNames for 2"},
		{"names twice", strings.Replace(line(forestClassification, 2, 2, 1), "{", `{"classNames":["a","a"],`, 1), `both named "a"`},
		{"thresholds", strings.Replace(line(forestClassification, 2, 2, 1), `"paramMap":null`, `"paramMap":{"thresholds":[0.1,0.9]}`, 1), "its thresholds are [0.1 0.9]"},
		{"equal thresholds", strings.Replace(line(forestClassification, 2, 2, 1), `"paramMap":null`, `"paramMap":{"thresholds":[0.5,0.5]}`, 1), ""},
		{"of old", line(forestClassification, -1, 2, 1), ""},
	} {
		dir := files(t, inTrees(stump()), 1)
		dir["metadata/part-00000"].Data = []byte(test.line)
		f, err := openClassifier(dir)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if test.name == "of old" && err == nil && len(f.Features) != 1 {
			t.Errorf("%s: features %v, want those that splits ask for", test.name, f.Features)
		}
	}
}

// TestDirectory: what is missing or is another thing is said by its name.
func TestDirectory(t *testing.T) {
	good := files(t, inTrees(stump()), 1)
	for name, want := range map[string]string{"metadata": "there is no folder metadata", "data": "there is no folder data"} {
		dir := fstest.MapFS{}
		for path, f := range good {
			if !strings.HasPrefix(path, name+"/") {
				dir[path] = f
			}
		}
		if _, err := openClassifier(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: got %v", name, err)
		}
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "it is a file, and a model", file + "x": "no such file", "hdfs://there/model": "hadoop fs -get hdfs://there/model",
	} {
		if _, err := OpenClassifier(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
		if _, err := OpenRegressor(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// sums returns a file of Hadoop's checksums.
func sums(data []byte) []byte {
	all := append([]byte("crc\x00"), 0, 0, 2, 0)
	for part := range slices.Chunk(data, 512) {
		all = binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(part))
	}
	return all
}

// TestDamaged: a file of nodes that is cut short is an error that names it, and so is one byte changed where there are checksums. Without them, it may be
// other nodes, and takes no more memory than those.
func TestDamaged(t *testing.T) {
	dir := files(t, inTrees(stump(), []nodeData{set(0, 1, 2, 1, 4, 0, 3), end(1, 1, 0), end(2, 1, 3)}), 2)
	const name = "data/part-0.snappy.parquet"
	good := dir[name].Data
	for n := 0; n < len(good); n += 1 + len(good)/200 {
		dir[name] = &fstest.MapFile{Data: good[:n]}
		if _, err := openClassifier(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Fatalf("%d bytes of %d: got %v", n, len(good), err)
		}
	}
	var before, after runtime.MemStats
	for i := 0; i < len(good); i += 1 + len(good)/300 {
		changed := slices.Clone(good)
		changed[i] ^= byte(1 + i%255)
		dir[name] = &fstest.MapFile{Data: changed}
		runtime.ReadMemStats(&before)
		openClassifier(dir)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 16<<20 {
			t.Fatalf("byte %d: %d bytes allocated", i, after.TotalAlloc-before.TotalAlloc)
		}
	}
	const crc = "data/.part-0.snappy.parquet.crc"
	dir[crc] = &fstest.MapFile{Data: sums(good)}
	dir[name] = &fstest.MapFile{Data: good}
	if _, err := openClassifier(dir); err != nil {
		t.Fatalf("with its checksums: %v", err)
	}
	for _, test := range []struct {
		data, sums []byte
		want       string
	}{
		{append(slices.Clone(good[:len(good)-9]), "damaged?!"...), sums(good), "do not fit its checksums (.crc), from byte"},
		{good[:len(good)-600], sums(good), "it was cut short"},
		{good, []byte("crc\x00\x00\x00\x00\x00"), "are of another number"},
		{good, []byte("crc"), "file of checksums beside it (.crc) is damaged"},
	} {
		dir[name], dir[crc] = &fstest.MapFile{Data: test.data}, &fstest.MapFile{Data: test.sums}
		if _, err := openClassifier(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestEnormous: sets of categories that would become more thresholds than there is memory for are refused at once, and a deep tree is not.
func TestEnormous(t *testing.T) {
	const features, categories = 30, 64
	var nodes []nodeData
	var odd []float64
	for c := 1; c < categories; c += 2 {
		odd = append(odd, float64(c))
	}
	for i := range int32(features) { // node 2i splits, 2i+1 is a leaf
		nodes = append(nodes, set(2*i, 2*i+1, 2*i+2, i, categories, odd...), end(2*i+1, 1, 0))
	}
	nodes = append(nodes, end(2*features, 0, 1))
	dir := files(t, inTrees(nodes), 1)
	dir["metadata/part-00000"].Data = []byte(line(forestClassification, features, 2, 1))
	if _, err := openClassifier(dir); err == nil || !strings.Contains(err.Error(), "its 61 nodes become more than 126536") {
		t.Errorf("got %v", err)
	}
	nodes = nodes[:0]
	const deep = 30_000
	for i := range int32(deep) {
		nodes = append(nodes, split(2*i, 2*i+1, 2*i+2, i%2, float64(i)), end(2*i+1, 1, 0))
	}
	f, err := openClassifier(files(t, inTrees(append(nodes, end(2*deep, 0, 1))), 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := proba(f, deep, deep); f.Trees()[0].Depth() != deep || got[1] != 1 {
		t.Errorf("depth %d, %v", f.Trees()[0].Depth(), got)
	}
}

// TestBoosted: the trees of a GBTRegressionModel count by their weights.
func TestBoosted(t *testing.T) {
	tree := func(a, b float64) []nodeData {
		nodes := []nodeData{split(0, 1, 2, 0, .5), end(1, 1, a, a*a), end(2, 1, b, b*b)}
		nodes[0].ImpurityStats = []float64{2, 0, 0}
		nodes[1].Prediction, nodes[2].Prediction = a, b
		return nodes
	}
	dir := files(t, inTrees(tree(10, 20), tree(-1, 4)), 2)
	dir["metadata/part-00000"].Data = []byte(line(boostedRegression, 2, 0, 2))
	for _, test := range []struct {
		weights []treeRow
		want    string
	}{
		{[]treeRow{{1, "", .5}, {0, "", 1}}, ""},
		{[]treeRow{{1, "", .5}}, "gives tree 0 of 2 no weight"},
		{[]treeRow{{1, "", .5}, {1, "", 1}}, "gives tree 0 of 2 no weight"},
		{[]treeRow{{2, "", .5}}, "row 0 is of tree 2 of 2"},
		{[]treeRow{{0, "", .5}, {1, "", math.Inf(1)}}, "gives tree 1 of 2 no weight"},
	} {
		dir["treesMetadata/part-0.parquet"] = &fstest.MapFile{Data: parquetOf(t, test.weights)}
		f, err := openRegressor(dir)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.weights, err, test.want)
		}
		if err == nil && (f.Value([]float32{0, 0}) != 9.5 || f.Value([]float32{1, 0}) != 22) {
			t.Errorf("got %v and %v, want 9.5 and 22", f.Value([]float32{0, 0}), f.Value([]float32{1, 0}))
		}
	}
}

// FuzzOpen: whatever lies in the folder of data, and in the line of metadata, is a forest or an error.
func FuzzOpen(f *testing.F) {
	good := files(f, inTrees(stump(), []nodeData{set(0, 1, 2, 1, 4, 0, 3), end(1, 1, 0), end(2, 1, 3)}), 2)
	f.Add(good["metadata/part-00000"].Data, good["data/part-0.snappy.parquet"].Data)
	f.Fuzz(func(t *testing.T, meta, data []byte) {
		dir := fstest.MapFS{"metadata/part-00000": {Data: meta}, "data/part-0": {Data: data}}
		if c, err := openClassifier(dir); err == nil {
			got := proba(c, make([]float64, len(c.Features))...)
			sum := 0.0
			for _, v := range got {
				sum += v
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("probabilities %v", got)
			}
		}
	})
}
