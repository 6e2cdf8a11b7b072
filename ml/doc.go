// Package ml holds what every model of this house learns from, and what it answers: a table of rows with names, groups and targets, made of files,
// tables and structs; folds and splits that keep a group whole; the interfaces of classifiers and regressors; cross-validation and the search for
// settings. It ends before the first model: trees, forests, regressions, networks, metrics and the win-probability model live in the rooms below it.
//
// A [Dataset] stores float32 features row by row, as scikit-learn's trees see them. Rows of one match belong to one
// group, and every split of a dataset that names its groups keeps them whole: a random split by row puts snapshots of the same match
// on both sides and reports an accuracy that no unseen match will show.
package ml
