// Package ml holds what every model of this house learns from: a table of rows with names, groups and targets, and
// the splits that keep a group whole. It ends before the first model: trees, forests, regressions, networks, metrics
// and the win-probability model live in the rooms below it.
//
// A [Dataset] stores float32 features row by row, as scikit-learn's trees see them. Rows of one match belong to one
// group, and the only splits offered are by group and by date: a random split by row puts snapshots of the same match
// on both sides and reports an accuracy that no unseen match will show.
package ml
