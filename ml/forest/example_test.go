package forest_test

import (
	"context"
	"fmt"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/gpu"
)

// A forest learns which of two numbers is greater.
func ExampleFitClassifier() {
	var rows [][]float64
	var labels []int
	for i := range 200 {
		a, b := float64(i%17), float64(i%23)
		label := 0
		if b > a {
			label = 1
		}
		rows, labels = append(rows, []float64{a, b}), append(labels, label)
	}
	data, err := ml.FromRows([]string{"a", "b"}, rows)
	if err != nil {
		fmt.Println(err)
		return
	}
	data.Classes, data.Labels = []string{"a", "b"}, labels
	f, err := forest.FitClassifier(context.Background(), data, forest.Config{Trees: 50, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, 2)
	f.ProbaTo(p, []float32{15, 2})
	fmt.Printf("%v: %s %.1f\n", f, f.Classes[0], p[0])
	// Output: random forest of 50 trees for a, b from a, b: a 1.0
}

// A forest answers where a session chooses: the answers are the same, and the session tells why.
func ExampleClassifier_On() {
	ctx := context.Background()
	data := &ml.Dataset{Features: []string{"a"}, Values: []float32{1, 2, 3, 4}, Classes: []string{"low", "high"}, Labels: []int{0, 0, 1, 1}}
	f, err := forest.FitClassifier(ctx, data, forest.Config{Trees: 10, NoBootstrap: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	work, err := gpu.NewSession(ctx, gpu.Config{Device: gpu.CPU}) // gpu.Configured(session.Configure(…)) in a notebook
	if err != nil {
		fmt.Println(err)
		return
	}
	defer work.Close()
	placed, err := f.On(work)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer placed.Close()
	p, err := placed.PredictProba(ctx, data)
	fmt.Println(p, err)
	why := work.Explain().Decisions[0]
	fmt.Printf("%s on the %s: %s\n", why.Operation, why.Place, why.Reason)
	// Output:
	// [[1 0] [1 0] [0 1] [0 1]] <nil>
	// forest predict on the CPU: the device is set to cpu
}

// A forest is grown where a session chooses: the trees are the same, and the session tells why.
func ExampleConfig_session() {
	ctx := context.Background()
	data := &ml.Dataset{Features: []string{"a"}, Values: []float32{1, 2, 3, 4}, Classes: []string{"low", "high"}, Labels: []int{0, 0, 1, 1}}
	work, err := gpu.NewSession(ctx, gpu.Config{Device: gpu.CPU}) // gpu.Configured(session.Configure(…)) in a notebook
	if err != nil {
		fmt.Println(err)
		return
	}
	defer work.Close()
	f, err := forest.FitClassifier(ctx, data, forest.Config{Trees: 10, NoBootstrap: true, Session: work})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(f.Trees()), "trees")
	why := work.Explain().Decisions[0]
	fmt.Printf("%s on the %s: %s\n", why.Operation, why.Place, why.Reason)
	// Output:
	// 10 trees
	// forest fit on the CPU: the device is set to cpu
}

// Where forests grow is read as for queries. Here it is this process, and so there is no Trainer.
func ExampleOn() {
	cluster, err := forest.On(context.Background(), "local[*]") // in a notebook: a parameter
	fmt.Println(cluster, err)
	config := forest.Config{Trees: 50, Seed: 1, Trainer: cluster}
	fmt.Println("here:", config.Trainer == nil)

	_, err = forest.On(context.Background(), "spark://host:7077")
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// here: true
	// forest: where it is to grow: "spark://host:7077" is what a Spark Connect server is started with: write sc://HOST:15002, the address of that server
}
