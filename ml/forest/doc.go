// Package forest grows random forests: many trees on samples of the rows, averaged, for classes or for a number. It
// ends at the forest: how one tree grows is package tree's, what the columns mean is the caller's.
//
// The names are scikit-learn's in Go's form ([Config]). The same data, settings and seed give the same forest, bit for
// bit, on any number of cores: each tree draws from its own seed, is grown by one goroutine, and is stored and averaged
// in its place. In a GPU session it is grown ([Config.Session]) and answers ([Classifier.On]) the same, too.
package forest
