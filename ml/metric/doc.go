// Package metric judges answers against what happened. Of probabilities of classes: accuracy, macro F1, log loss, Brier score, RPS, ROC AUC,
// average precision and calibration. Of numbers: squared and absolute error, R² and D². Means over groups such as matches have intervals that
// respect them. It ends at the number: which rows belong together, and which models meet, is the caller's.
//
// Probabilities are one slice per row, each summing to 1, and the class of each row is an index into it. Rows count the same where a function
// takes no weights; a win-probability table has one row a minute, so a mean over rows is a mean over the minutes of a match. No rows give NaN.
// A label outside the probabilities, a probability that is NaN or not from 0 to 1, a row that does not sum to 1, a weight below 0, or slices
// of different lengths, panic.
package metric
