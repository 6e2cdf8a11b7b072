// Package linear fits the two regressions that a forest has to beat: multinomial logistic for classes and Poisson for
// counts. Both are fitted by Newton's method (iteratively reweighted least squares) on standardized columns with a small
// ridge penalty. It ends at the fit: which columns to use is the caller's.
package linear
