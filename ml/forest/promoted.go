package forest

import "cancha/ml/tree"

// The methods of an ensemble stand here once for each kind: an interpreted cell cannot call what is promoted from an
// unexported embedded struct, because reflection does not allow it.

// Trees returns the trees; they are the forest's own.
func (f *Classifier) Trees() []*tree.Tree { return f.ensemble.Trees() }

// Importance returns the share of each column in what the trees learned, in the order of the columns.
func (f *Classifier) Importance() []float64 { return f.ensemble.Importance() }

// Nodes returns how many nodes the trees have together.
func (f *Classifier) Nodes() int { return f.ensemble.Nodes() }

// Trees returns the trees; they are the forest's own.
func (f *Regressor) Trees() []*tree.Tree { return f.ensemble.Trees() }

// Importance returns the share of each column in what the trees learned, in the order of the columns.
func (f *Regressor) Importance() []float64 { return f.ensemble.Importance() }

// Nodes returns how many nodes the trees have together.
func (f *Regressor) Nodes() int { return f.ensemble.Nodes() }
