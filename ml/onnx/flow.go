package onnx

import (
	"fmt"
	"slices"
)

// rows says where an ensemble's rows come from.
type rows struct {
	columns int64    // 0: the graph does not say
	names   []string // of the columns, where the graph takes each as an input of its own
	elem    int64    // type of their numbers, as the ensemble sees them
	rounded bool     // by a Cast to float
}

// ensembleNode returns the one operator of trees, after checking that nothing else in the graph changes rows or answers.
func (m *model) ensembleNode(want string) (*node, rows, error) {
	var found *node
	before := map[string]bool{} // outputs of operators that may only stand before the trees
	for i := range m.nodes {
		switch n := &m.nodes[i]; n.String() {
		case "TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble":
			if found != nil {
				return nil, rows{}, fmt.Errorf("its graph has two ensembles of trees, %v and %v; a forest is one", found, n)
			}
			found = n
		case "Cast", "Identity", "ZipMap":
		case "Concat":
			for _, name := range n.outputs {
				before[name] = true
			}
		default:
			return nil, rows{}, fmt.Errorf("its graph has %v beside the trees, which no forest does; export the forest alone, and do that before or after it", n)
		}
	}
	if found == nil {
		return nil, rows{}, fmt.Errorf("its graph has no TreeEnsembleClassifier, TreeEnsembleRegressor or TreeEnsemble: this is no model of trees")
	}
	if m.opset > 5 {
		return nil, rows{}, fmt.Errorf("it is written for ai.onnx.ml %d, which is newer than 5, the last that this reads; export it for an older one", m.opset)
	}
	if s := found.String(); s != want && s != "TreeEnsemble" {
		return nil, rows{}, fmt.Errorf("it holds a %v, a %s is needed; open it as the other kind", found, want)
	}
	if len(found.inputs) != 1 {
		return nil, rows{}, fmt.Errorf("%v has %d inputs, want one; export it again", found, len(found.inputs))
	}
	r, err := m.source(found.inputs[0])
	if err != nil {
		return nil, rows{}, err
	}
	for name := range before {
		if !m.feeds(name, found.inputs[0]) {
			return nil, rows{}, fmt.Errorf("its graph has a Concat behind the trees, which no forest does; export the forest alone")
		}
	}
	return found, r, nil
}

// producer returns the operator that gives a value, or nil.
func (m *model) producer(name string) *node {
	i := slices.IndexFunc(m.nodes, func(n node) bool { return slices.Contains(n.outputs, name) })
	if i < 0 {
		return nil
	}
	return &m.nodes[i]
}

// feeds tells whether a value is another, or becomes it by casts.
func (m *model) feeds(name, end string) bool {
	for range len(m.nodes) + 1 { // as many steps as there are operators: a circle ends too
		if end == name {
			return true
		}
		n := m.producer(end)
		if n == nil || len(n.inputs) != 1 {
			return false
		}
		end = n.inputs[0]
	}
	return false
}

// source follows the rows back to the inputs of the graph.
func (m *model) source(name string) (r rows, err error) {
	var cast int64 // the last type that they are cast to
	for range len(m.nodes) + 1 {
		if i := slices.IndexFunc(m.inputs, func(in input) bool { return in.name == name }); i >= 0 {
			r.columns, r.elem = m.inputs[i].columns, m.inputs[i].elem
			if cast != 0 {
				r.elem = cast
			}
			return r, nil
		}
		n := m.producer(name)
		if n == nil || len(n.inputs) == 0 {
			return r, fmt.Errorf("its rows come from %q, which is no input of the graph; export it again", name)
		}
		switch n.op {
		case "Identity":
		case "Cast":
			to, err := n.int("to", 0)
			if err != nil {
				return r, err
			}
			if to != typeFloat && to != typeDouble {
				return r, fmt.Errorf("its rows are cast to type %d before the trees; float (%d) and double (%d) keep what they are", to, typeFloat, typeDouble)
			}
			r.rounded = r.rounded || to == typeFloat
			if cast == 0 {
				cast = to
			}
		case "Concat":
			return m.concat(n, r, cast)
		default:
			return r, fmt.Errorf("its rows come from %v, which no forest does; export the forest alone, and do that before it", n)
		}
		name = n.inputs[0]
	}
	return r, fmt.Errorf("its graph runs in a circle; export it again")
}

// concat takes the inputs of the graph that stand side by side in a row.
func (m *model) concat(n *node, r rows, cast int64) (rows, error) {
	axis, err := n.int("axis", 0)
	if err != nil {
		return r, err
	}
	if axis != 1 && axis != -1 {
		return r, fmt.Errorf("a Concat before the trees is along axis %d, and columns are 1; export it again", axis)
	}
	at := make(map[string]*input, len(m.inputs))
	for i := range m.inputs {
		at[m.inputs[i].name] = &m.inputs[i]
	}
	r.names = make([]string, 0, len(n.inputs))
	for _, name := range n.inputs {
		in := at[name]
		if in == nil || in.columns != 1 {
			return r, fmt.Errorf("a Concat before the trees takes %q, which is no input of the graph with one column; export the forest with one input", name)
		}
		if in.elem != m.inputs[0].elem {
			return r, fmt.Errorf("the columns %q and %q are of two types; export the forest with one input", name, m.inputs[0].name)
		}
		r.names, r.elem = append(r.names, name), in.elem
	}
	if r.columns = int64(len(r.names)); cast != 0 {
		r.elem = cast
	}
	return r, nil
}
