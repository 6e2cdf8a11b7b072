// Package tree grows one decision tree, for classes or for a number, on rows whose values were first put into bins. It
// ends at the single tree: drawing samples, growing many trees at once and averaging them is package forest's.
//
// Five roles, one file each; each knows only the ones before it:
//
//   - [Bins] turns every column into small integer codes that keep the order of its values (bins.go);
//   - the criterion judges how good a set of rows, or a split of it, is (criterion.go);
//   - the partitioner orders the rows of a node by one column and moves them to the left or the right (partitioner.go);
//   - the splitter searches a node's best split over some columns (splitter.go);
//   - [Builder] grows a [Tree], depth first (builder.go).
//
// The rows of a node are a range [start, end) of one array; a split moves a position: left is [start, pos), right is
// [pos, end). Nothing is copied. There is no interface in the inner loops: a dynamic call per row costs more than the
// work it would do.
//
// A column with at most [Config].MaxBins distinct values is split exactly, at the midpoint between neighbouring values
// of the node, as scikit-learn does. A column with more is split between its quantiles.
//
// Values, thresholds and rows are float32, as scikit-learn's, and answers float64. Where float32 does not tell the values
// of a column apart ([ml.Dataset.WideColumn]), bins and thresholds are of float64, and LeafExact takes such rows. Targets
// are counted from the mean of their node, so it does not matter how far from 0 they lie.
package tree
