package job

import (
	"maps"
	"slices"

	"cancha/jobs/placement"
)

// Operation is the computation of one of the four types, with its parameters read.
type Operation interface {
	// Work is what it asks of a worker: the making of its data, the computation as often as it is asked for, and the reading of the result.
	Work() placement.Work
}

// Types lists the types that every worker runs.
func Types() []string {
	return []string{MatrixMultiply, NeuralNetwork, VectorAddition, ImageProcessing}
}

// Matrices is a product of an M × K with a K × N matrix of float32, made of pseudo-random numbers from a seed, and computed Iterations times.
type Matrices struct {
	M, N, K, Iterations int64
	Seed                int64
}

// Vectors is a sum of two vectors of float32, computed Iterations times.
type Vectors struct{ Size, Iterations, Seed int64 }

// Network is the training of a network with one hidden layer, on one batch of rows for each epoch.
type Network struct {
	Input, Hidden, Output, Batch, Epochs int64
	Seed                                 int64
}

// Image is an operation that passes over each picture of a batch, once or several times.
type Image struct {
	Width, Height, Batch, Iterations int64
	Operation                        string // one of ImageOperations
	Seed                             int64
}

// ImageOperations lists what can be done to a picture.
func ImageOperations() []string { return []string{"blur", "sharpen", "edges", "grayscale"} }

func (o Matrices) Work() placement.Work {
	m, n, k := float64(o.M), float64(o.N), float64(o.K)
	return placement.MatrixMultiply(m, n, k).Times(float64(o.Iterations)).Making(m*k + k*n + m*n)
}

func (o Vectors) Work() placement.Work {
	n := float64(o.Size)
	return placement.VectorAddition(n).Times(float64(o.Iterations)).Making(3 * n)
}

func (o Network) Work() placement.Work {
	in, hidden, out, batch := float64(o.Input), float64(o.Hidden), float64(o.Output), float64(o.Batch)
	return placement.NeuralNetwork(in, hidden, out, batch, float64(o.Epochs)).Making(batch*in + (in+1)*hidden + (hidden+1)*out)
}

func (o Image) Work() placement.Work {
	width, height := float64(o.Width), float64(o.Height)*float64(o.Batch)
	numbers := 2 * width * height
	if o.Operation == "grayscale" { // of three colours
		numbers *= 2
	}
	return placement.ImageProcessing(width, height, o.Operation, float64(o.Iterations)).Making(numbers)
}

// longest is how many numbers a side of what is computed has at most: what is beyond has no cost that anybody could wait for.
const longest = 1 << 40

// ReadOperation reads the parameters of one of the four types. Parameters that are missing have usual values, others are ignored; the names
// of an older producer are taken, too: matrix_size, vector_size, image_size as [width, height], filter. Of another type it returns nil.
func ReadOperation(name string, parameters []byte) (Operation, error) {
	read := readerOf(name)
	if read == nil {
		return nil, nil
	}
	r, err := newReader(parameters)
	if err != nil {
		return nil, err
	}
	o := read(r)
	if r.err != nil {
		return nil, r.err
	}
	return o, nil
}

func readerOf(name string) func(*reader) Operation {
	switch name {
	case MatrixMultiply:
		return readMatrices
	case VectorAddition:
		return readVectors
	case NeuralNetwork:
		return readNetwork
	case ImageProcessing:
		return readImage
	}
	return nil
}

// Parameters lists the names of the parameters of one of the four types, those of an older producer among them; of another type it returns nil.
func Parameters(name string) []string {
	read := readerOf(name)
	if read == nil {
		return nil
	}
	r := &reader{}
	read(r)
	return r.asked
}

// Ignored lists the names, sorted, of all that has no effect on a job of one of the four types, so that its result can say so: a misspelled
// size is as if there were none. It is the same for parameters and for what stands beside the fields of the contract, where a producer's
// own notes are listed, too. A field that says otherwise than the parameter of its name, and a second name of what another one has said,
// are among them. Of another type it returns nil.
func (s *Spec) Ignored() []string {
	read := readerOf(s.Type)
	r, err := newReader(s.Parameters)
	if read == nil || err != nil {
		return nil
	}
	read(r)
	ignored := map[string]bool{}
	for name := range r.fields {
		ignored[name] = !slices.Contains(r.used, name)
	}
	for name, value := range s.Unknown {
		if compact(value) != compact(r.fields[name]) {
			ignored[name] = true
		}
	}
	maps.DeleteFunc(ignored, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(ignored))
}

func readMatrices(r *reader) Operation {
	size := r.whole(1000, 1, longest, "size", "matrix_size", "n")
	return Matrices{M: r.whole(size, 1, longest, "m", "rows"), N: r.whole(size, 1, longest, "n", "columns"), K: r.whole(size, 1, longest, "k", "inner"),
		Iterations: r.whole(1, 1, longest, "iterations"), Seed: r.seed()}
}

func readVectors(r *reader) Operation {
	return Vectors{Size: r.whole(1_000_000, 1, longest, "size", "vector_size", "n"), Iterations: r.whole(1, 1, longest, "iterations"), Seed: r.seed()}
}

func readNetwork(r *reader) Operation {
	return Network{
		Input: r.whole(784, 1, longest, "input_size"), Hidden: r.whole(128, 1, longest, "hidden_size"), Output: r.whole(10, 1, longest, "output_size"),
		Batch: r.whole(64, 1, longest, "batch_size"), Epochs: r.whole(10, 1, longest, "epochs"), Seed: r.seed(),
	}
}

func readImage(r *reader) Operation {
	width, height := r.pair(1920, 1080, 1, longest, "image_size", "size")
	return Image{
		Width: r.whole(width, 1, longest, "width"), Height: r.whole(height, 1, longest, "height"),
		Batch: r.whole(1, 1, longest, "batch_size"), Iterations: r.whole(1, 1, longest, "iterations"),
		Operation: r.one(ImageOperations(), "operation", "filter", "filter_type"), Seed: r.seed(),
	}
}
