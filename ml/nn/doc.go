// Package nn trains networks of two layers for classes: a hidden layer with relu, then softmax, with cross-entropy and Adam on
// batches. It ends at the probabilities: where the columns come from, and what the classes mean, is the caller's.
//
// The same network learns in two ways. [Fit] launches fused funcs, on the CPU or on a GPU, whichever a session chooses; [FitGraph]
// builds a graph of gorgonia, to look into or to start from. Both begin with the same weights and see the same batches, so their losses
// agree to what rounding leaves. With the same data, settings, seed and device the result is the same, bit for bit.
//
// This is the one room that knows gorgonia. [UseBLAS] has gorgonia multiply as fast as the rest of the house.
package nn
