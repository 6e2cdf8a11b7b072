package placement

import (
	"fmt"
	"math"
)

// Device is a class of workers, by the words of the contract's worker_type.
type Device string

// The two classes of devices.
const (
	CPU Device = "cpu"
	GPU Device = "gpu"
)

// Devices lists the classes.
func Devices() []Device { return []Device{CPU, GPU} }

// Work is what a job asks of whoever does it. All numbers are from 0; the zero Work, but for its type, is work of which nothing is known
// before it has run.
type Work struct {
	// Type is under which name runs are measured, such as "matrix_multiply". Kinds of a type that differ in speed have names of their own
	// ("image_processing/blur").
	Type       string
	Operations float64 // of floating-point numbers
	Bytes      float64 // read and written in the memory of the device that runs it
	Moved      float64 // bytes that go into a GPU's own memory, and back
	Memory     float64 // bytes that must lie in the device's memory at one time
	Launches   float64 // of a GPU's kernels, one after another
	Made       float64 // numbers that one core of the machine makes before the device begins, or reads when it has ended
	// Size puts work of unknown operations into classes that take about as long: rows, bytes of the parameters, whatever grows with the time. 0:
	// Operations.
	Size float64
}

// Making is the work with so many numbers that are made for it, or read afterwards: see Made.
func (w Work) Making(numbers float64) Work {
	w.Made = numbers
	return finite(w)
}

// Times is the work of computing the same again and again, n times together, on data that is made and moved once. n is from 0.
func (w Work) Times(n float64) Work {
	w.Operations, w.Bytes, w.Launches = w.Operations*n, w.Bytes*n, w.Launches*n
	return finite(w)
}

// known tells whether the work's cost can be said before it has run.
func (w Work) known() bool { return w.Operations > 0 || w.Bytes > 0 || w.Launches > 0 || w.Moved > 0 }

// bucket is the class of size in which the work is measured: ⌊log2 size⌋, from 0.
func (w Work) bucket() int {
	size := w.Size
	if size <= 0 {
		size = w.Operations
	}
	if !(size >= 2) {
		return 0
	}
	return min(math.Ilogb(size), mostBucket)
}

// mostBucket is above the logarithm of any float64.
const mostBucket = 1024

// Validate reports a number that no work has: NaN, infinite or negative.
func (w Work) Validate() error {
	for _, n := range []struct {
		name  string
		value float64
	}{
		{"operations", w.Operations}, {"bytes", w.Bytes}, {"moved bytes", w.Moved}, {"memory", w.Memory}, {"launches", w.Launches},
		{"made numbers", w.Made}, {"size", w.Size},
	} {
		if !(n.value >= 0) || math.IsInf(n.value, 0) {
			return fmt.Errorf("placement: work of type %.100q: %s %v; a number from 0", w.Type, n.name, n.value)
		}
	}
	return nil
}

const word = 4 // bytes of a float32, in which all of the operations below compute

// MatrixMultiply is the work of an m × k matrix times a k × n matrix of float32: 2 m n k operations, and each matrix is read or written
// once. Sizes are from 0; they are float64 because a foreign job may ask for any.
func MatrixMultiply(m, n, k float64) Work {
	bytes := word * (m*k + k*n + m*n)
	return finite(Work{Type: "matrix_multiply", Operations: 2 * m * n * k, Bytes: bytes, Moved: bytes, Memory: bytes, Launches: 1})
}

// VectorAddition is the work of adding two vectors of n float32: n operations, and 12 n bytes.
func VectorAddition(n float64) Work {
	bytes := 3 * word * n
	return finite(Work{Type: "vector_addition", Operations: n, Bytes: bytes, Moved: bytes, Memory: bytes, Launches: 1})
}

// NeuralNetwork is the work of training a network with one hidden layer for so many epochs of one batch each. A layer's forward pass is one
// matrix product, and its backward pass two of the same size, for the gradients of its weights and of its input: 6 operations for each
// weight and row. Weights are read by both passes, and read and written by the step; rows and what the layers make of them are written once
// and read twice.
func NeuralNetwork(input, hidden, output, batch, epochs float64) Work {
	weights := input*hidden + hidden + hidden*output + output
	rows := batch * (input + hidden + output)
	return finite(Work{
		Type: "neural_network", Operations: 6 * batch * (input*hidden + hidden*output) * epochs, Bytes: word * (4*weights + 3*rows) * epochs,
		Moved: word * (2*weights + batch*(input+output)), Memory: word * (2*weights + 2*rows), Launches: 12 * epochs,
	})
}

// ImageProcessing is the work of passing an operation so many times over a picture of float32. Of each pixel and pass, blur, sharpen and
// edges make a sum of 3 × 3 products (17 operations), grayscale one of three (5). Another operation counts as blur. A batch of pictures is
// as much work as one that has the pixels of all.
func ImageProcessing(width, height float64, operation string, iterations float64) Work {
	pixels, each, channels := width*height, 17.0, 1.0
	if operation == "grayscale" {
		each, channels = 5, 3
	}
	bytes := word * (channels + 1) * pixels
	return finite(Work{
		Type: "image_processing/" + operation, Operations: each * pixels * iterations, Bytes: bytes * iterations,
		Moved: bytes, Memory: bytes, Launches: iterations,
	})
}

// finite makes sizes that no float64 holds the greatest one, and what is no number 0.
func finite(w Work) Work {
	for _, v := range []*float64{&w.Operations, &w.Bytes, &w.Moved, &w.Memory, &w.Launches, &w.Made} {
		if !(*v >= 0) {
			*v = 0
		}
		*v = min(*v, math.MaxFloat64)
	}
	return w
}
