// Package metric judges probabilities of classes against what happened: accuracy, macro F1, log loss, Brier score, RPS
// and calibration, with intervals that respect groups such as matches. It ends at the number: which rows belong
// together, and which models meet, is the caller's.
//
// Every function takes one slice of probabilities per row, each summing to 1, and the class of each row as an index
// into it. Rows count the same; a win-probability table has one row a minute, so a mean over rows is a mean over the
// minutes of a match. No rows give NaN. A label outside the probabilities, a
// probability that is NaN or not from 0 to 1, a row that does not sum to 1, or slices of different lengths, panic.
package metric
