package onnx

import (
	"slices"

	"cancha/ml/tree"
)

// sharePure lets leaves of one class share one answer, as those of trees that are grown here do: in a tree without limits these are nearly all,
// and what few numbers are left stay in the cache. Leaves answer in the order of the nodes, so answers only move to the front.
func sharePure(t *tree.Tree) {
	shared := map[int32]int32{} // where the answer of one class begins
	used := int32(0)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Feature >= 0 {
			continue
		}
		start, size := n.Left, answerSize(t, n.Left)
		class := pureClass(t, start, size)
		if at, ok := shared[class]; ok && class >= 0 && slices.Equal(t.Values[at:at+size], t.Values[start:start+size]) {
			n.Left = at
			continue
		}
		copy(t.Values[used:], t.Values[start:start+size])
		if t.Classes != nil {
			copy(t.Classes[used:], t.Classes[start:start+size])
		}
		if n.Left = used; class >= 0 {
			shared[class] = used
		}
		used += size
	}
	t.Values = slices.Clone(t.Values[:used])
	if t.Classes != nil {
		t.Classes = slices.Clone(t.Classes[:used])
	}
}

// answerSize is how many numbers an answer has.
func answerSize(t *tree.Tree, start int32) int32 {
	if t.Classes == nil {
		return int32(t.Outputs)
	}
	return 1 + int32(slices.IndexFunc(t.Classes[start:], func(class int32) bool { return class < 0 }))
}

// pureClass returns the class that has all of an answer, or -1.
func pureClass(t *tree.Tree, start, size int32) int32 {
	answer := t.Values[start : start+size]
	first := slices.IndexFunc(answer, func(v float64) bool { return v != 0 })
	if first < 0 || slices.ContainsFunc(answer[first+1:], func(v float64) bool { return v != 0 }) {
		return -1
	}
	if t.Classes == nil {
		return int32(first)
	}
	class := t.Classes[start+int32(first)]
	if class < 0 {
		class = ^class
	}
	return class
}
