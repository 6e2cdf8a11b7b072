package onnx

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"cancha/internal/alloctest"
	"cancha/ml"
	"cancha/ml/forest"
)

// attribute returns the field of an attribute of whole numbers, packed.
func attribute(name string, v ...int64) []byte {
	var packed []byte
	for _, x := range v {
		packed = protowire.AppendVarint(packed, uint64(x))
	}
	return appendAttribute(nil, name, attributeInts, 8, packed)
}

func floatAttribute(name string, v ...float32) []byte {
	var packed []byte
	for _, x := range v {
		packed = protowire.AppendFixed32(packed, math.Float32bits(x))
	}
	return appendAttribute(nil, name, attributeFloats, 7, packed)
}

func textAttribute(name string, v ...string) []byte {
	texts := appendMessage(nil, 1, name)
	for _, s := range v {
		texts = appendMessage(texts, 9, s)
	}
	return appendMessage(nil, 5, texts)
}

// graph returns a model of two classes, one column and one operator with these attributes.
func graph(op string, attributes ...[]byte) []byte {
	n := appendMessage(appendMessage(appendMessage(nil, 1, "X"), 4, op), 7, "ai.onnx.ml")
	n = append(n, bytes.Join(attributes, nil)...)
	g := appendMessage(appendMessage(nil, 1, n), 11, appendMessage(appendMessage(nil, 1, "X"), 2, tensorType(typeFloat, 1)))
	return appendMessage(appendMessage(nil, 8, appendNumber(appendMessage(nil, 1, "ai.onnx.ml"), 2, 1)), 7, g)
}

// stump is what the attributes of a tree with one split are; a test puts others in their place.
func stump() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range []string{"nodes_treeids", "class_treeids"} {
		all[name] = attribute(name, 0, 0, 0)
	}
	all["class_treeids"] = attribute("class_treeids", 0, 0)
	all["nodes_nodeids"], all["nodes_featureids"] = attribute("nodes_nodeids", 0, 1, 2), attribute("nodes_featureids", 0, 0, 0)
	all["nodes_truenodeids"], all["nodes_falsenodeids"] = attribute("nodes_truenodeids", 1, 0, 0), attribute("nodes_falsenodeids", 2, 0, 0)
	all["nodes_modes"], all["nodes_values"] = textAttribute("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF"), floatAttribute("nodes_values", 0.5, 0, 0)
	all["class_nodeids"], all["class_ids"], all["class_weights"] = attribute("class_nodeids", 1, 2), attribute("class_ids", 0, 1), floatAttribute("class_weights", 1, 1)
	all["classlabels_int64s"] = attribute("classlabels_int64s", 0, 1)
	return all
}

// classifierModel returns the model of some attributes.
func classifierModel(all map[string][]byte) []byte {
	var list [][]byte
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return graph("TreeEnsembleClassifier", list...)
}

// TestHostile: a tree with one split is read; one thing wrong in it is an error that says what.
func TestHostile(t *testing.T) {
	if f, err := decodeClassifier(classifierModel(stump())); err != nil || f.Nodes() != 3 {
		t.Fatalf("the good one: %v", err)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, test := range []struct {
		name  string
		wrong []byte // an attribute; of the last one with a name
		want  string
	}{
		{"nodes_falsenodeids", attribute("nodes_falsenodeids", 0, 0, 0), "two branches of tree 0 lead to node 0"},
		{"nodes_falsenodeids", attribute("nodes_falsenodeids", 1, 0, 0), "two branches of tree 0 lead to node 1"},
		{"nodes_falsenodeids", attribute("nodes_falsenodeids", 3, 0, 0), "node 3, which is not there"},
		{"nodes_falsenodeids", attribute("nodes_falsenodeids", -1, 0, 0), "node -1, which is not there"},
		{"nodes_falsenodeids", attribute("nodes_falsenodeids", math.MinInt64, 0, 0), "which is not there"},
		{"nodes_falsenodeids", attribute("nodes_falsenodeids", 2), "nodes_falsenodeids has 1 entries where others have 3"},
		{"nodes_nodeids", attribute("nodes_nodeids", 0, 1, 1), "two nodes 1"},
		{"nodes_nodeids", attribute("nodes_nodeids", math.MaxInt64, math.MinInt64, 2), "node 1 of tree 0 votes, which is not there"},
		{"nodes_treeids", attribute("nodes_treeids", 0, 0, 1), "node 2 of tree 0 votes, which is not there"},
		{"nodes_treeids", attribute("nodes_treeids"), "no trees"},
		{"nodes_featureids", attribute("nodes_featureids", 1, 0, 0), "asks for column 1, and rows have 1"},
		{"nodes_featureids", attribute("nodes_featureids", -1, 0, 0), "asks for column -1"},
		{"nodes_modes", textAttribute("nodes_modes", "BRANCH_LEQ", "LEAF", "BRANCH_LEQ"), "node 2 of tree 0 votes, and is no leaf"},
		{"nodes_modes", textAttribute("nodes_modes", "LEAF", "LEAF", "LEAF"), "3 leaves of 3 nodes"},
		{"nodes_modes", textAttribute("nodes_modes", "BRANCH", "LEAF", "LEAF"), `mode "BRANCH", which ONNX does not have`},
		{"nodes_modes", textAttribute("nodes_modes", "BRANCH_MEMBER", "LEAF", "LEAF"), "compares by BRANCH_MEMBER"},
		{"nodes_modes", textAttribute("nodes_modes", "\xff", "LEAF", "LEAF"), "no text in UTF-8"},
		{"nodes_values", floatAttribute("nodes_values", nan, 0, 0), "splits at NaN"},
		{"nodes_values", floatAttribute("nodes_values", -inf, 0, 0), "splits at -Inf"},
		{"class_nodeids", attribute("class_nodeids", 0, 2), "node 0 of tree 0 votes, and is no leaf"},
		{"class_nodeids", attribute("class_nodeids", 7, 2), "node 7 of tree 0 votes, which is not there"},
		{"class_treeids", attribute("class_treeids", 0, 1), "tree 1 votes, which has no nodes"},
		{"class_ids", attribute("class_ids", 0, 2), "votes for class 2 of 2"},
		{"class_ids", attribute("class_ids", 0, -1), "votes for class -1"},
		{"class_weights", floatAttribute("class_weights", 1, 0.5), "sum to 0.5"},
		{"class_weights", floatAttribute("class_weights", 1, -1), "a leaf votes with -1"},
		{"class_weights", floatAttribute("class_weights", 1, nan), "sum to NaN"},
		{"class_weights", floatAttribute("class_weights", 1, inf), "sum to +Inf"},
		{"classlabels_int64s", attribute("classlabels_int64s"), "0 classlabels_int64s and 0 classlabels_strings"},
		{"classlabels_int64s", attribute("classlabels_int64s", 3, 3), `both named "3"`},
		{"nodes_hitrates", slices.Concat(floatAttribute("nodes_hitrates", 1), floatAttribute("nodes_hitrates", 1)), "two attributes"},
		{"nodes_values_as_tensor", appendAttribute(nil, "nodes_values_as_tensor", attributeTensor, 5, nil), "both nodes_values and nodes_values_as_tensor"},
	} {
		all := stump()
		all[test.name] = test.wrong
		if _, err := decodeClassifier(classifierModel(all)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestSplitAtInfinity: what tells missing values from all numbers, in rows of float and of double.
func TestSplitAtInfinity(t *testing.T) {
	for _, exact := range []bool{false, true} {
		e := &ensemble{tree: []int64{0, 0, 0}, id: []int64{0, 1, 2}, feature: []int64{0, 0, 0}, mode: []mode{branchLEQ, leaf, leaf},
			threshold: []float64{math.Inf(1), 0, 0}, yes: []int64{1, 0, 0}, no: []int64{2, 0, 0}, tracks: []int64{0, 0, 0}, exact: exact,
			voteTree: []int64{0, 0}, voteNode: []int64{1, 2}, voteFor: []int64{0, 1}, vote: []float64{1, 1}, columns: 1}
		trees, err := e.shares(2)
		if err != nil {
			t.Fatal(err)
		}
		f, err := forest.NewClassifier([]string{"x"}, []string{"there", "missing"}, trees)
		if err != nil {
			t.Errorf("exact %v: %v", exact, err)
			continue
		}
		d, err := ml.FromRowsMissing([]string{"x"}, [][]float64{{-1}, {math.MaxFloat32 * (1 + 1e-9)}, {math.NaN()}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Predict(t.Context(), d); err != nil || !slices.Equal(got, []int{0, 0, 1}) {
			t.Errorf("exact %v: got %v, %v", exact, got, err)
		}
	}
}

// TestTensors: numbers of a tensor stand in its list or in its raw bytes, and what is neither is refused.
func TestTensors(t *testing.T) {
	doubles := appendNumber(appendNumber(nil, 1, 2), 2, typeDouble)
	two := protowire.AppendFixed64(protowire.AppendFixed64(nil, math.Float64bits(0.1)), math.Float64bits(-2))
	for _, test := range []struct {
		name   string
		tensor []byte
		want   string
	}{
		{"raw", appendMessage(doubles, 9, two), ""},
		{"list", appendMessage(doubles, 10, two), ""},
		{"half a number", appendMessage(doubles, 9, two[:9]), "9 bytes are no whole number"},
		{"half a number in a list", appendMessage(doubles, 10, two[:9]), "damaged"},
		{"another file", appendNumber(appendMessage(doubles, 9, two), 14, 1), "another file"},
		{"another type", appendMessage(appendNumber(nil, 2, typeString), 9, two), "a tensor of type 8"},
	} {
		got, _, err := tensor(test.tensor)
		switch {
		case test.want == "" && (err != nil || !slices.Equal(got, []float64{0.1, -2})):
			t.Errorf("%s: got %v, %v", test.name, got, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestGraphs: what stands before and behind the trees changes nothing, or is refused.
func TestGraphs(t *testing.T) {
	node := func(op, in, out string, attributes ...[]byte) []byte {
		n := appendMessage(appendMessage(appendMessage(nil, 1, in), 2, out), 4, op)
		return appendMessage(nil, 1, append(n, bytes.Join(attributes, nil)...))
	}
	to := func(elem int64) []byte {
		return appendMessage(nil, 5, appendNumber(appendMessage(nil, 1, "to"), 3, elem))
	}
	trees := func(in string) []byte {
		n := appendMessage(appendMessage(appendMessage(nil, 1, in), 4, "TreeEnsembleClassifier"), 2, "probabilities")
		all := stump()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			n = append(n, all[name]...)
		}
		return appendMessage(nil, 1, n)
	}
	entry := func(elem, columns int64) []byte {
		return appendMessage(nil, 11, appendMessage(appendMessage(nil, 1, "X"), 2, tensorType(elem, columns)))
	}
	for _, test := range []struct {
		name  string
		graph []byte
		want  string
	}{
		{"cast", slices.Concat(node("Cast", "X", "Y", to(typeFloat)), trees("Y"), entry(typeDouble, 1)), ""},
		{"cast there and back", slices.Concat(node("Cast", "X", "Y", to(typeFloat)), node("Cast", "Y", "Z", to(typeDouble)), trees("Z"), entry(typeDouble, 1)), ""},
		{"cast to whole numbers", slices.Concat(node("Cast", "X", "Y", to(typeInt64)), trees("Y"), entry(typeDouble, 1)), "cast to type 7"},
		{"identity", slices.Concat(node("Identity", "X", "Y"), trees("Y"), entry(typeFloat, 1)), ""},
		{"a circle", slices.Concat(node("Identity", "Y", "Y"), trees("Y"), entry(typeFloat, 1)), "circle"},
		{"from nowhere", slices.Concat(trees("Y"), entry(typeFloat, 1)), "no input of the graph"},
		{"its own answers", slices.Concat(trees("probabilities"), entry(typeFloat, 1)), "no forest does"},
		{"a column of two", slices.Concat(node("Concat", "X", "Y", appendMessage(nil, 5, appendNumber(appendMessage(nil, 1, "axis"), 3, 1))), trees("Y"), entry(typeFloat, 2)), "one column"},
		{"rows below rows", slices.Concat(node("Concat", "X", "Y"), trees("Y"), entry(typeFloat, 1)), "axis 0"},
		{"columns of answers", slices.Concat(trees("X"), node("Concat", "probabilities", "Z"), entry(typeFloat, 1)), "Concat behind"},
		{"another operator", slices.Concat(trees("X"), node("Neg", "probabilities", "Z"), entry(typeFloat, 1)), "Neg beside the trees"},
		{"no trees", slices.Concat(node("Identity", "X", "Y"), entry(typeFloat, 1)), "no model of trees"},
		{"many columns", slices.Concat(trees("X"), entry(typeFloat, 1<<40)), "rows of 1099511627776 columns"},
		{"no columns", slices.Concat(trees("X"), entry(typeFloat, -5)), "rows of -5 columns"},
	} {
		_, err := decodeClassifier(appendMessage(nil, 7, test.graph))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestSparse: of many classes leaves keep those that they vote for, and no more; more classes than the file could vote for are refused.
func TestSparse(t *testing.T) {
	var trees, nodes, features, yes, no, voters, classes []int64
	var modes []string
	for k := range int64(100) {
		trees, nodes, features = append(trees, k, k, k), append(nodes, 0, 1, 2), append(features, 0, 0, 0)
		yes, no, modes = append(yes, 1, 0, 0), append(no, 2, 0, 0), append(modes, "BRANCH_LEQ", "LEAF", "LEAF")
		voters, classes = append(voters, 1, 1, 2), append(classes, k, 3000, 3999)
	}
	all := stump()
	for name, v := range map[string][]int64{
		"nodes_treeids": trees, "nodes_nodeids": nodes, "nodes_featureids": features, "nodes_truenodeids": yes, "nodes_falsenodeids": no,
		"class_treeids": trees, "class_nodeids": voters, "class_ids": classes,
	} {
		all[name] = attribute(name, v...)
	}
	all["nodes_modes"], all["nodes_values"] = textAttribute("nodes_modes", modes...), floatAttribute("nodes_values", slices.Repeat([]float32{1}, len(trees))...)
	all["class_weights"] = floatAttribute("class_weights", slices.Repeat([]float32{.0025, .0075, .01}, 100)...)
	labels := make([]int64, 4000)
	for k := range labels {
		labels[k] = int64(k)
	}
	all["classlabels_int64s"] = attribute("classlabels_int64s", labels...)
	data := classifierModel(all)
	var f *forest.Classifier
	var err error
	alloctest.Bounded(t, len(data), func() { f, err = decodeClassifier(data) })
	if err != nil {
		t.Fatal(err)
	}
	p := make([]float64, 4000)
	f.ProbaTo(p, []float32{0})
	if math.Abs(p[99]-.0025) > 1e-6 || math.Abs(p[3000]-.75) > 1e-6 {
		t.Errorf("got %v and %v, want 0.0025 and 0.75", p[99], p[3000])
	}
	if f.ProbaTo(p, []float32{2}); math.Abs(p[3999]-1) > 1e-6 {
		t.Errorf("got %v, want 1", p[3999])
	}
	all["classlabels_int64s"] = attribute("classlabels_int64s", slices.Repeat([]int64{1}, 40_000)...)
	data = classifierModel(all)
	alloctest.Bounded(t, len(data), func() { _, err = decodeClassifier(data) })
	if err == nil || !strings.Contains(err.Error(), "most of which no leaf votes for") {
		t.Errorf("40,000 labels: got %v", err)
	}
}

// TestDeep: a tree of 100,000 splits below each other needs no stack, and time in proportion.
func TestDeep(t *testing.T) {
	const n = 100_000
	var ids, yes, no, voters []int64
	var modes []string
	for i := range int64(n) { // node 2i splits, 2i+1 is a leaf
		ids, yes, no = append(ids, 2*i, 2*i+1), append(yes, 2*i+1, 0), append(no, 2*i+2, 0)
		modes, voters = append(modes, "BRANCH_LEQ", "LEAF"), append(voters, 2*i+1)
	}
	ids, yes, no, modes, voters = append(ids, 2*n), append(yes, 0), append(no, 0), append(modes, "LEAF"), append(voters, 2*n)
	zeros := make([]int64, len(ids))
	all := stump()
	for name, v := range map[string][]int64{
		"nodes_treeids": zeros, "nodes_featureids": zeros, "nodes_nodeids": ids, "nodes_truenodeids": yes, "nodes_falsenodeids": no,
		"class_treeids": zeros[:n+1], "class_ids": append(zeros[:n:n], 1), "class_nodeids": voters,
	} {
		all[name] = attribute(name, v...)
	}
	all["nodes_modes"], all["nodes_values"] = textAttribute("nodes_modes", modes...), floatAttribute("nodes_values", make([]float32, 2*n+1)...)
	all["class_weights"] = floatAttribute("class_weights", slices.Repeat([]float32{1}, n+1)...)
	data := classifierModel(all)
	f, err := decodeClassifier(data)
	if err != nil {
		t.Fatal(err)
	}
	if depth := f.Trees()[0].Depth(); depth != n {
		t.Errorf("depth %d, want %d", depth, n)
	}
}

// seeds are the models of testdata, for fuzzing.
func seeds(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.onnx")
	if err != nil || len(paths) == 0 {
		f.Fatal(err, paths)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(classifierModel(stump()))
}

// FuzzOpenClassifier: any bytes are refused, or a forest that answers and that is saved and read again with the same answers.
func FuzzOpenClassifier(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var got *forest.Classifier
		var err error
		alloctest.Bounded(t, len(data), func() { got, err = decodeClassifier(data) })
		if err != nil {
			return
		}
		row, p := make([]float32, len(got.Features)), make([]float64, len(got.Classes))
		got.ProbaTo(p, row)
		for _, v := range p {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("probabilities %v", p)
			}
		}
		again, err := encodeClassifier(got)
		if len(got.Classes) < 2 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeClassifier(again)
		if err != nil {
			t.Fatalf("what was saved is refused: %v", err)
		}
		q := make([]float64, len(p))
		back.ProbaTo(q, row)
		for k := range p {
			if math.Abs(p[k]-q[k]) > 1e-3 {
				t.Fatalf("got %v, want %v", q, p)
			}
		}
	})
}

// FuzzOpenRegressor: any bytes are refused, or a forest that answers.
func FuzzOpenRegressor(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var got *forest.Regressor
		var err error
		alloctest.Bounded(t, len(data), func() { got, err = decodeRegressor(data) })
		if err != nil {
			return
		}
		got.Value(make([]float32, len(got.Features)))
		again, err := encodeRegressor(got)
		if err != nil && strings.Contains(err.Error(), "float32") { // numbers that only become so large as they are added up
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeRegressor(again); err != nil {
			t.Fatalf("what was saved is refused: %v", err)
		}
	})
}
