// Command forest fits the same random forest with package forest and with the libraries that people use, in turns, each in a process of its
// own, and writes a table of what that takes: scikit-learn, oneDAL (scikit-learn-intelex), LightGBM, XGBoost, and for the answers of
// scikit-learn's forest onnxruntime and package onnx. It ends at the table: bench/results keeps those of a date.
//
//	make bench-forest                                                     all of it: 100,000 and 1,000,000 rows, five turns (hours)
//	make bench-forest FLAGS="-rows 100k -depths 12 -turns 1"              a quarter of an hour
//
// peer.py has the settings of the others, data.py makes the rows.
package main
