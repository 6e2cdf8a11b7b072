package onnx

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"cancha/ml/forest"
	"cancha/ml/modelfile"
	"cancha/ml/tree"
)

// SaveClassifier writes a forest of classes to path as an ONNX model: rows "X", n by the number of features, of float, to "label", n, and
// "probabilities", n by the number of classes. Where the forest has thresholds of float64 rows are of double. Missing folders are made, and the
// file is replaced as a whole. A forest of one class, and one of more than 2 GiB in this form, are an error. Shares are float32 there.
func SaveClassifier(path string, f *forest.Classifier) error {
	data, err := encodeClassifier(f)
	if err != nil {
		return fmt.Errorf("onnx: save %s: %w", path, err)
	}
	return modelfile.Replace(path, data)
}

// SaveRegressor writes a forest of numbers to path as an ONNX model: rows "X", n by the number of features, to "variable", n by 1, of float:
// seven digits, which are few for answers far from 0, such as Unix times. One beyond float32 (3.4e38) is an error. See [SaveClassifier].
func SaveRegressor(path string, f *forest.Regressor) error {
	data, err := encodeRegressor(f)
	if err != nil {
		return fmt.Errorf("onnx: save %s: %w", path, err)
	}
	return modelfile.Replace(path, data)
}

// Types of attributes.
const (
	attributeInt     = 2
	attributeString  = 3
	attributeTensor  = 4
	attributeFloats  = 6
	attributeInts    = 7
	attributeStrings = 8
)

// encodeClassifier returns the bytes of the file.
func encodeClassifier(f *forest.Classifier) ([]byte, error) {
	if len(f.Classes) < 2 {
		return nil, fmt.Errorf("a forest of one class (%q) always answers 1, and ONNX has no way to say that; train with two", f.Classes)
	}
	w := newWriter(f.Trees(), "class", f.Features, f.Classes)
	for k, t := range f.Trees() {
		w.nodes(k, t)
		if len(f.Classes) == 2 { // the share of the second class alone, which onnxruntime takes from 1 for the first
			w.votes(k, t, func(vote func(class int, weight float64), leaf []float64) { vote(0, leaf[1]/float64(len(f.Trees()))) })
			continue
		}
		w.votes(k, t, func(vote func(class int, weight float64), leaf []float64) {
			for class, share := range leaf {
				if share != 0 {
					vote(class, share/float64(len(f.Trees())))
				}
			}
		})
	}
	op := w.operator("TreeEnsembleClassifier", "label", "probabilities")
	labels, labelType := classAttribute(f.Classes)
	op = append(op, labels...)
	return w.model(op, appendOutput(appendOutput(nil, "label", labelType), "probabilities", typeFloat, int64(len(f.Classes))))
}

// encodeRegressor returns the bytes of the file.
func encodeRegressor(f *forest.Regressor) ([]byte, error) {
	w := newWriter(f.Trees(), "target", f.Features, nil)
	for k, t := range f.Trees() {
		if i := slices.IndexFunc(t.Values, func(v float64) bool { return math.Abs(v) > math.MaxFloat32 }); i >= 0 {
			return nil, fmt.Errorf("tree %d answers with %v, and answers in ONNX are float32, up to 3.4e38; train with targets in another unit", k, t.Values[i])
		}
		w.nodes(k, t)
		w.votes(k, t, func(vote func(target int, weight float64), leaf []float64) { vote(0, leaf[0]) })
	}
	op := w.operator("TreeEnsembleRegressor", "variable")
	op = appendAttribute(op, "aggregate_function", attributeString, 4, []byte("AVERAGE"))
	op = appendMessage(op, 5, appendNumber(appendNumber(appendMessage(nil, 1, "n_targets"), 3, 1), 20, attributeInt))
	return w.model(op, appendOutput(nil, "variable", typeFloat, 1))
}

// writer gathers the attributes of all trees, packed.
type writer struct {
	kind              string // class or target
	features, classes []string
	exact             bool
	treeID, nodeID    []byte
	feature           []byte
	mode              []byte // fields of texts, which cannot be packed
	threshold         []byte
	yes, no           []byte // children
	tracks            []byte // nodes_missing_value_tracks_true; nil: rows have all numbers
	voteTree          []byte
	voteNode, voteFor []byte
	vote              []byte
	count, voteCount  int
}

func newWriter(trees []*tree.Tree, kind string, features, classes []string) *writer {
	return &writer{kind: kind, features: features, classes: classes, exact: trees[0].Exact != nil}
}

// nodes writes the nodes of tree k.
func (w *writer) nodes(k int, t *tree.Tree) {
	for i, n := range t.Nodes {
		mode, feature, threshold, yes, no := leaf, int32(0), 0.0, int32(0), int32(0)
		if n.Feature >= 0 {
			mode, feature, threshold, yes, no = branchLEQ, n.Feature, float64(n.Threshold), n.Left, n.Right
			if w.exact {
				threshold = t.Exact[i]
			}
		}
		w.treeID, w.nodeID = protowire.AppendVarint(w.treeID, uint64(k)), protowire.AppendVarint(w.nodeID, uint64(i))
		w.feature = protowire.AppendVarint(w.feature, uint64(feature))
		w.yes, w.no = protowire.AppendVarint(w.yes, uint64(yes)), protowire.AppendVarint(w.no, uint64(no))
		if t.MissingLeft != nil {
			track := uint64(0)
			if n.Feature >= 0 && t.MissingLeft[i] {
				track = 1
			}
			w.tracks = protowire.AppendVarint(w.tracks, track)
		}
		w.mode = appendMessage(w.mode, 9, modeNames()[mode])
		w.threshold = w.number(w.threshold, threshold)
	}
	w.count += len(t.Nodes)
}

// votes writes the votes of the leaves of tree k, as f gives them for a leaf's numbers.
func (w *writer) votes(k int, t *tree.Tree, f func(vote func(id int, weight float64), leaf []float64)) {
	for i, n := range t.Nodes {
		if n.Feature >= 0 {
			continue
		}
		f(func(id int, weight float64) {
			w.voteTree, w.voteNode = protowire.AppendVarint(w.voteTree, uint64(k)), protowire.AppendVarint(w.voteNode, uint64(i))
			w.voteFor, w.vote = protowire.AppendVarint(w.voteFor, uint64(id)), w.number(w.vote, weight)
			w.voteCount++
		}, t.Answer(i))
	}
}

// number appends a number as float32, or as float64 where the forest is exact.
func (w *writer) number(dst []byte, v float64) []byte {
	if w.exact {
		return protowire.AppendFixed64(dst, math.Float64bits(v))
	}
	return protowire.AppendFixed32(dst, math.Float32bits(float32(v)))
}

// operator returns the fields of the ensemble's NodeProto.
func (w *writer) operator(op string, outputs ...string) []byte {
	n := appendMessage(nil, 1, "X")
	for _, name := range outputs {
		n = appendMessage(n, 2, name)
	}
	n = appendMessage(n, 4, op)
	n = appendMessage(n, 7, "ai.onnx.ml")
	for _, a := range []struct {
		name   string
		packed []byte
	}{
		{"nodes_treeids", w.treeID}, {"nodes_nodeids", w.nodeID}, {"nodes_featureids", w.feature}, {"nodes_truenodeids", w.yes}, {"nodes_falsenodeids", w.no},
		{w.kind + "_treeids", w.voteTree}, {w.kind + "_nodeids", w.voteNode}, {w.kind + "_ids", w.voteFor},
	} {
		n = appendAttribute(n, a.name, attributeInts, 8, a.packed)
	}
	n = appendMessage(n, 5, appendNumber(append(appendMessage(nil, 1, "nodes_modes"), w.mode...), 20, attributeStrings))
	if w.tracks != nil {
		n = appendAttribute(n, "nodes_missing_value_tracks_true", attributeInts, 8, w.tracks)
	}
	n = w.numbers(n, "nodes_values", w.threshold, w.count)
	n = w.numbers(n, w.kind+"_weights", w.vote, w.voteCount)
	return appendAttribute(n, "post_transform", attributeString, 4, []byte("NONE"))
}

// numbers appends an attribute of float, or the tensor of double in its place.
func (w *writer) numbers(dst []byte, name string, packed []byte, count int) []byte {
	if !w.exact {
		return appendAttribute(dst, name, attributeFloats, 7, packed)
	}
	t := appendNumber(appendNumber(nil, 1, int64(count)), 2, typeDouble)
	return appendAttribute(dst, name+"_as_tensor", attributeTensor, 5, appendMessage(t, 9, packed))
}

// appendAttribute appends an attribute whose content, bytes, is field num of its message.
func appendAttribute(dst []byte, name string, typ int64, num protowire.Number, content []byte) []byte {
	return appendMessage(dst, 5, appendNumber(appendMessage(appendMessage(nil, 1, name), num, content), 20, typ))
}

// classAttribute returns the attribute of the labels, and the type of the answers: whole numbers where all names are such, as skl2onnx has it.
func classAttribute(classes []string) (attribute []byte, elem int64) {
	var packed, texts []byte
	whole := true
	for _, name := range classes {
		v, err := strconv.ParseInt(name, 10, 64)
		whole = whole && err == nil && strconv.FormatInt(v, 10) == name
		packed, texts = protowire.AppendVarint(packed, uint64(v)), appendMessage(texts, 9, name)
	}
	if whole {
		return appendAttribute(nil, "classlabels_int64s", attributeInts, 8, packed), typeInt64
	}
	return appendMessage(nil, 5, appendNumber(append(appendMessage(nil, 1, "classlabels_strings"), texts...), 20, attributeStrings)), typeString
}

// tensorType returns a TypeProto: n rows, by so many columns where they are given.
func tensorType(elem int64, columns ...int64) []byte {
	shape := appendMessage(nil, 1, appendMessage(nil, 2, "n"))
	for _, c := range columns {
		shape = appendMessage(shape, 1, appendNumber(nil, 1, c))
	}
	return appendMessage(nil, 1, appendMessage(appendNumber(nil, 1, elem), 2, shape))
}

// appendOutput appends an output of a graph.
func appendOutput(dst []byte, name string, elem int64, columns ...int64) []byte {
	return appendMessage(dst, 12, appendMessage(appendMessage(nil, 1, name), 2, tensorType(elem, columns...)))
}

// model returns the bytes of the file. The versions are the oldest that have what is used, so that old programs read it too.
func (w *writer) model(operator, outputs []byte) ([]byte, error) {
	elem, ml := int64(typeFloat), int64(1)
	if w.exact {
		elem, ml = typeDouble, 3
	}
	graph := appendMessage(nil, 1, operator)
	graph = appendMessage(graph, 2, "forest")
	graph = appendMessage(graph, 11, appendMessage(appendMessage(nil, 1, "X"), 2, tensorType(elem, int64(len(w.features)))))
	graph = append(graph, outputs...)
	if len(graph) > math.MaxInt32-1<<20 {
		return nil, fmt.Errorf("the model would have %d bytes, and a file of protobuf ends at 2 GiB; use fewer or smaller trees", len(graph))
	}
	m := appendMessage(appendNumber(nil, 1, 8), 2, "cancha") // ir_version 8, of 2021
	m = appendMessage(m, 8, appendNumber(appendMessage(nil, 1, ""), 2, 15))
	m = appendMessage(m, 8, appendNumber(appendMessage(nil, 1, "ai.onnx.ml"), 2, ml))
	for _, p := range []struct {
		key   string
		names []string
	}{{featureNames, w.features}, {classNames, w.classes}} {
		if p.names == nil {
			continue
		}
		list, err := json.Marshal(p.names)
		if err != nil {
			return nil, err
		}
		m = appendMessage(m, 14, appendMessage(appendMessage(nil, 1, p.key), 2, list))
	}
	return appendMessage(m, 7, graph), nil
}
