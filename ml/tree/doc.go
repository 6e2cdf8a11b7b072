// Package tree grows one decision tree, for classes or for a number, on rows whose values were first put into bins. It
// ends at the single tree: drawing samples, growing many trees at once and averaging them is package forest's.
//
// Five roles; each knows only the ones before it:
//
//   - [Bins] turns every column into small whole numbers, codes, that keep the order of its values (bins.go);
//   - the ground holds the rows of a tree and orders them node by node (rows.go);
//   - the criterion judges sets of rows and searches a column for the best split (criterion.go): classes that are counted
//     (gini.go), classes of any weights (classes.go), numbers (numbers.go);
//   - the splitter draws the columns that a node looks at (splitter.go);
//   - [Builder] grows a [Tree], depth first (builder.go), the leaf that gains most first (gain.go), or subtree beside subtree
//     (growth.go), on its large nodes by histograms that a GPU counts (wide.go).
//
// The rows of a node are a range [start, end) of one array; a split moves a position: left is [start, pos), right is
// [pos, end). Rows keep their order, so memory is read from one end to the other; and once a node has few rows, their codes
// are copied side by side, and all below it stays in the cache. There is no interface in the inner loops: a dynamic call
// per row costs more than the work it would do.
//
// The columns that a node draws depend on its way down from the root, and not on nodes grown before it.
//
// A column with at most as many distinct values as there are bins is split exactly, at the midpoint between neighbouring
// values of the node, as scikit-learn does. A column with more is split between its quantiles; with [Exact] there is none.
// Values less than 1e-7 apart are told apart, where scikit-learn takes them for one.
//
// Values, thresholds and rows are float32, as scikit-learn's, and answers float64. Where float32 does not tell the values
// of a column apart ([ml.Dataset.WideColumn]), bins and thresholds are of float64, and LeafExact takes such rows. Targets
// are counted from the mean of their node, so it does not matter how far from 0 they lie.
package tree
