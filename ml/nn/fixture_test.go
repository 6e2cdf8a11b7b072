package nn

import (
	"fmt"
	"math/rand/v2"

	"cancha/ml"
)

// digits returns rows of side × side pixels: of each class a stroke, moved by a pixel, of some brightness, under noise.
func digits(seed uint64, rows, side, classes int) *ml.Dataset {
	d, strokes := &ml.Dataset{}, make([][]float32, classes)
	for i := range side * side {
		d.Features = append(d.Features, fmt.Sprint("pixel", i))
	}
	for k := range strokes {
		d.Classes, strokes[k] = append(d.Classes, fmt.Sprint(k)), stroke(uint64(k), side)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for range rows {
		k, moved, bright := r.IntN(classes), (r.IntN(3)-1)*side+r.IntN(3)-1, 0.5+r.Float32()/2
		d.Labels = append(d.Labels, k)
		for at := range side * side {
			v := float32(0)
			if from := at - moved; from >= 0 && from < side*side {
				v = strokes[k][from] * bright
			}
			if r.IntN(20) == 0 {
				v = r.Float32()
			}
			d.Values = append(d.Values, v)
		}
	}
	return d
}

// stroke is a walk from the middle of an image.
func stroke(seed uint64, side int) []float32 {
	r, image, x, y := rand.New(rand.NewPCG(seed, 2)), make([]float32, side*side), side/2, side/2
	for range 3 * side {
		x, y = min(max(x+r.IntN(3)-1, 1), side-2), min(max(y+r.IntN(3)-1, 1), side-2)
		image[y*side+x] = 1
	}
	return image
}
