package nn

import (
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/modelfile"
)

// A network in a model file, under a prefix of its owner's choice:
//
//	meta  prefix           {"features", "classes", "hidden", "losses"}
//	f32   prefix.params    first layer's weights (features × hidden, row by row) and biases, second layer's weights (hidden × classes) and biases
//	f32   prefix.mean      taken away from each column; empty where columns go in as they are
//	f32   prefix.factor    by which each column is multiplied then
//
// A file of its own is of this kind, with the prefix "network".
const (
	fileKind    = "network"
	fileVersion = 1
	filePrefix  = "network"
)

type fileMeta struct {
	Features []string  `json:"features"`
	Classes  []string  `json:"classes"`
	Hidden   int       `json:"hidden"`
	Losses   []float64 `json:"losses"`
}

// Save writes the network to path, whole or not at all; missing folders are made.
func (n *Network) Save(path string) error {
	f := &modelfile.File{Kind: fileKind, Version: fileVersion}
	if err := n.Store(f, filePrefix); err != nil {
		return fmt.Errorf("nn: save network: %w", err)
	}
	if err := f.Save(path); err != nil {
		return fmt.Errorf("nn: %w", err)
	}
	return nil
}

// Open reads a network that Save wrote. The errors of package modelfile tell a file that is cut short, damaged, of another kind or newer
// than this program; each names the file and says what to do.
func Open(path string) (*Network, error) {
	f, err := modelfile.Open(path, fileKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("nn: %w", err)
	}
	n, err := Load(f, filePrefix)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", path, err)
	}
	return n, nil
}

// Store writes the network into a model file under a prefix.
func (n *Network) Store(file *modelfile.File, prefix string) error {
	file.SetFloat32(prefix+".params", n.params)
	file.SetFloat32(prefix+".mean", n.scale.mean)
	file.SetFloat32(prefix+".factor", n.scale.factor)
	return file.SetMeta(prefix, fileMeta{n.Features, n.Classes, n.shape.hidden, n.Losses})
}

// Load reads a network that Store wrote under a prefix.
func Load(file *modelfile.File, prefix string) (*Network, error) {
	var meta fileMeta
	if err := file.Meta(prefix, &meta); err != nil {
		return nil, fmt.Errorf("nn: %w", err)
	}
	var arrays [3][]float32
	for i, name := range []string{".params", ".mean", ".factor"} {
		a, err := file.Float32(prefix + name)
		if err != nil {
			return nil, fmt.Errorf("nn: %w", err)
		}
		arrays[i] = a
	}
	if err := (&ml.Dataset{Features: meta.Features, Classes: meta.Classes}).Validate(); err != nil {
		return nil, fmt.Errorf("nn: %q: %w: %w", prefix, err, modelfile.ErrDamaged)
	}
	s, by := shape{len(meta.Features), meta.Hidden, len(meta.Classes)}, scale{arrays[1], arrays[2]}
	if err := fits(s, by, arrays[0]); err != nil {
		return nil, fmt.Errorf("nn: %q: %w: %w", prefix, err, modelfile.ErrDamaged)
	}
	if len(by.mean) == 0 {
		by = scale{}
	}
	return newNetwork(meta.Features, meta.Classes, s, by, arrays[0], meta.Losses), nil
}

// fits checks that a network of this shape can answer with these numbers.
func fits(s shape, by scale, params []float32) error {
	if s.in < 1 || s.hidden < 1 || s.out < 2 || s.hidden > len(params) {
		return fmt.Errorf("%d features, %d hidden units and %d classes are no network", s.in, s.hidden, s.out)
	}
	if err := s.check(1, 1); err != nil {
		return err
	}
	if len(params) != s.params() {
		return fmt.Errorf("%d parameters for a network of %d", len(params), s.params())
	}
	if len(by.mean) != len(by.factor) || len(by.mean) != 0 && len(by.mean) != s.in {
		return fmt.Errorf("means of %d and factors of %d columns for a network of %d", len(by.mean), len(by.factor), s.in)
	}
	for name, array := range map[string][]float32{"parameter": params, "mean": by.mean, "factor": by.factor} {
		for i, v := range array {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("%s %d is %v", name, i, v)
			}
		}
	}
	return nil
}
