package nn_test

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/nn"
	"cancha/runtime/gpu"
)

// rows are pairs of numbers, and which of both is greater.
func rows() *ml.Dataset {
	d := &ml.Dataset{Features: []string{"a", "b"}, Classes: []string{"a is greater", "b is greater"}}
	for i := range 400 {
		a, b := i%17, i%23
		d.Values = append(d.Values, float32(a), float32(b))
		label := 0
		if b > a {
			label = 1
		}
		d.Labels = append(d.Labels, label)
	}
	return d
}

// A network learns which of two numbers is greater, where a session chooses.
func ExampleFit() {
	session, err := gpu.NewSession(context.Background(), gpu.Config{Device: gpu.CPU})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	network, err := nn.Fit(context.Background(), rows(), nn.Config{Epochs: 60, Standardize: true, Seed: 1, Session: session})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, 2)
	network.ProbaTo(p, []float32{15, 2})
	fmt.Println(network)
	fmt.Printf("%s: %.1f\n", network.Classes[0], p[0])
	fmt.Println(session.Explain().Decisions[0].Operation, "on the", session.Explain().Decisions[0].Place)
	// Output:
	// network of 256 hidden units for a is greater, b is greater from a, b
	// a is greater: 1.0
	// train a network on the CPU
}

// The same network as a graph of gorgonia has the same losses.
func ExampleFitGraph() {
	restore := nn.UseBLAS(0)
	defer restore()
	c := nn.Config{Epochs: 3, Seed: 1}
	graph, err := nn.FitGraph(context.Background(), rows(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fused, err := nn.Fit(context.Background(), rows(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range fused.Losses {
		fmt.Println(math.Abs(graph.Losses[i]-fused.Losses[i]) < 1e-4)
	}
	// Output:
	// true
	// true
	// true
}
