package placement_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"cancha/jobs/placement"
)

// Jobs are placed by what they cost, while nothing was measured, and say why.
func ExamplePlanner_Plan() {
	planner, err := placement.NewPlanner(&placement.History{}, placement.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	workers := []placement.Worker{
		{ID: "cpu-1", Device: placement.CPU, Memory: 4e9},
		{ID: "gpu-1", Device: placement.GPU, Memory: 16e9, Ready: 20},
	}
	var jobs []placement.Job
	for _, n := range []float64{500, 20_000, 30_000} {
		jobs = append(jobs, placement.Job{ID: fmt.Sprint("product of ", n), Type: "matrix_multiply", Work: placement.MatrixMultiply(n, n, n), Priority: 5})
	}
	for _, d := range planner.Plan(jobs, workers).Decisions {
		fmt.Printf("%s on %s, now: %v\n  %s\n", d.Job, d.Worker, d.Now, d.Reason())
	}
	// Output:
	// product of 500 on cpu-1, now: true
	//   cpu: 4.7 ms by cost, gpu 2.9 ms; backlog 0 s, gpu 20 s
	// product of 20000 on gpu-1, now: false
	//   gpu: 5.4 s by cost, it needs 4.8 GB, and the largest cpu has 4 GB; backlog 0 s; it starts in 20 s
	// product of 30000 on gpu-1, now: false
	//   gpu: 17 s by cost, it needs 11 GB, and the largest cpu has 4 GB; backlog 5.4 s; it starts in 20 s
}

// What was measured corrects the cost, and is kept as JSON.
func ExampleHistory() {
	var history placement.History
	worker := placement.Worker{ID: "cpu-1", Device: placement.CPU, Model: "2 cores"}
	work := placement.VectorAddition(1e7)
	fmt.Println(history.Predict(work, worker))
	for range 3 {
		if _, err := history.Add(work, worker, 0.044); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(history.Predict(work, worker))
	kept, err := json.Marshal(&history)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(kept) < 1000, json.Unmarshal(kept, &history))
	// Output:
	// 12 ms by cost
	// 37 ms predicted
	// true <nil>
}

// Autoscaling goes by seconds of work, and sees that there is enough for a GPU which is not there.
func ExamplePlanner_Demand() {
	planner, err := placement.NewPlanner(&placement.History{}, placement.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var jobs []placement.Job
	for i := range 300 {
		jobs = append(jobs, placement.Job{ID: fmt.Sprint("job ", i), Type: "matrix_multiply", Work: placement.MatrixMultiply(5000, 5000, 5000)})
	}
	workers := []placement.Worker{{ID: "cpu-1", Device: placement.CPU}}
	could := []placement.Worker{{ID: "gpu", Device: placement.GPU, Ready: 60}}
	demand := planner.Demand(jobs, workers, could)
	for _, device := range placement.Devices() {
		fmt.Printf("%s: %d jobs, %.0f s\n", device, demand[device].Jobs, demand[device].Seconds)
	}
	// Output:
	// cpu: 26 jobs, 92 s
	// gpu: 274 jobs, 36 s
}

// A strategy of one's own: by load and estimate the best worker, but small jobs leave a GPU to others.
func ExampleStrategy() {
	thrifty := placement.StrategyFunc(func(j placement.Job, all []placement.Candidate) string {
		cpus := slices.DeleteFunc(slices.Clone(all), func(c placement.Candidate) bool { return c.Device == placement.GPU })
		if j.Work.Operations < 1e9 && len(cpus) > 0 {
			return placement.Best(cpus).ID
		}
		return placement.Best(all).ID
	})
	planner, err := placement.NewPlanner(&placement.History{}, placement.Settings{Strategy: thrifty})
	if err != nil {
		fmt.Println(err)
		return
	}
	workers := []placement.Worker{{ID: "cpu-1", Device: placement.CPU}, {ID: "gpu-1", Device: placement.GPU}}
	for _, n := range []float64{500, 5000} {
		d := planner.Choose(placement.Job{ID: "j", Type: "matrix_multiply", Work: placement.MatrixMultiply(n, n, n)}, workers)
		fmt.Printf("product of %v: %s, %s\n", n, d.Worker, d.Reason())
	}
	// Output:
	// product of 500: cpu-1, cpu: 4.7 ms by cost, gpu 2.9 ms; backlog 0 s, gpu 0 s; by the program's strategy
	// product of 5000: gpu-1, gpu: 130 ms by cost, cpu 3.5 s; backlog 0 s; by the program's strategy
}
