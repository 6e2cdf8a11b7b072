package placement

import (
	"math"
	"testing"
)

// TestWork: operations and bytes of the contract's types, by hand.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		name string
		got  Work
		want Work
	}{
		{"matrices", MatrixMultiply(2, 3, 4), Work{Type: "matrix_multiply", Operations: 48, Bytes: 104, Moved: 104, Memory: 104, Launches: 1}},
		{"vectors", VectorAddition(10), Work{Type: "vector_addition", Operations: 10, Bytes: 120, Moved: 120, Memory: 120, Launches: 1}},
		// 2·3 + 3 + 3·1 + 1 = 13 weights, 5 rows of 6 values.
		{"a network", NeuralNetwork(2, 3, 1, 5, 7), Work{Type: "neural_network", Operations: 6 * 5 * 9 * 7, Bytes: 4 * (4*13 + 3*30) * 7,
			Moved: 4 * (26 + 15), Memory: 4 * (26 + 60), Launches: 84}},
		{"a picture", ImageProcessing(10, 20, "edges", 3), Work{Type: "image_processing/edges", Operations: 17 * 600, Bytes: 8 * 600,
			Moved: 1600, Memory: 1600, Launches: 3}},
		{"colours", ImageProcessing(10, 20, "grayscale", 1), Work{Type: "image_processing/grayscale", Operations: 1000, Bytes: 3200,
			Moved: 3200, Memory: 3200, Launches: 1}},
		{"nothing", MatrixMultiply(0, 5, 5), Work{Type: "matrix_multiply", Bytes: 100, Moved: 100, Memory: 100, Launches: 1}},
		{"seven products", MatrixMultiply(2, 3, 4).Making(26).Times(7),
			Work{Type: "matrix_multiply", Operations: 336, Bytes: 728, Moved: 104, Memory: 104, Launches: 7, Made: 26}},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, c.got, c.want)
		}
	}
}

// TestHostileWork: whatever a foreign job asks for is a number, and takes no longer than any time does.
func TestHostileWork(t *testing.T) {
	for _, size := range []float64{1e12, -1, math.Inf(1), math.NaN(), math.MaxFloat64} {
		for _, w := range []Work{MatrixMultiply(size, size, size), VectorAddition(size), NeuralNetwork(size, size, size, size, size),
			ImageProcessing(size, size, "blur", size)} {
			if err := w.Validate(); err != nil {
				t.Errorf("size %v: %v", size, err)
			}
			for _, d := range Devices() {
				if s := (&History{}).Predict(w, Worker{Device: d}).Seconds; !(s > 0 && s <= longest) {
					t.Errorf("size %v: %s takes %v s on a %s", size, w.Type, s, d)
				}
			}
		}
	}
	if err := (Work{Type: "t", Bytes: math.NaN()}).Validate(); err == nil {
		t.Error("no error about bytes that are no number")
	}
}

// TestSeconds: the roofline, by hand.
func TestSeconds(t *testing.T) {
	r := Rates{Operations: 100, Bandwidth: 10, Transfer: 5, Launch: 0.5, Overhead: 1, Make: 4}
	for _, c := range []struct {
		name   string
		device Device
		work   Work
		want   float64
	}{
		{"nothing", CPU, Work{}, 1},
		{"arithmetic", CPU, Work{Operations: 1000, Bytes: 10}, 11},
		{"memory", CPU, Work{Operations: 10, Bytes: 100}, 11},
		{"launches", CPU, Work{Launches: 4}, 3},
		{"data that is made", CPU, Work{Operations: 1000, Made: 8}, 13},
		{"and by the CPU for a GPU", GPU, Work{Operations: 1000, Made: 8}, 13},
		{"a CPU moves nothing", CPU, Work{Operations: 100, Moved: 1e9}, 2},
		{"a GPU does", GPU, Work{Operations: 100, Moved: 20}, 6},
		{"for ever", GPU, Work{Operations: 1e300}, longest},
	} {
		if got := r.seconds(c.device, c.work); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if got, want := (Rates{Operations: math.NaN(), Launch: -1}).or(Typical(GPU)), Typical(GPU); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := (Rates{Bandwidth: -1}).Validate(); err == nil {
		t.Error("no error about a negative rate")
	}
}

// TestBucket: sizes of one bucket differ by less than a factor of two.
func TestBucket(t *testing.T) {
	for _, c := range []struct {
		work Work
		want int
	}{{Work{}, 0}, {Work{Operations: 1}, 0}, {Work{Operations: 2}, 1}, {Work{Operations: 1023}, 9}, {Work{Operations: 1024}, 10},
		{Work{Operations: 8, Size: 100}, 6}, {Work{Size: math.Inf(1)}, mostBucket}, {Work{Size: math.NaN()}, 0}} {
		if got := c.work.bucket(); got != c.want {
			t.Errorf("%+v: got %d, want %d", c.work, got, c.want)
		}
	}
}
