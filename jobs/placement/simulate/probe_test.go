package simulate

import (
	"fmt"
	"testing"
	"time"

	"cancha/jobs/placement"
)

func cluster() []Worker {
	return []Worker{
		{Worker: placement.Worker{ID: "cpu-1", Device: placement.CPU, Memory: 4e9}},
		{Worker: placement.Worker{ID: "cpu-2", Device: placement.CPU, Memory: 4e9}},
		{Worker: placement.Worker{ID: "gpu-1", Device: placement.GPU, Memory: 16e9}, Joins: 20, Starts: 10, First: 0.5},
	}
}

func TestProbe(t *testing.T) {
	for seed := range uint64(4) {
		for _, n := range []int{300, 600, 1500} {
			var jobs []Job
			cs, gs, pg := 0.0, 0.0, 0.0
			for _, r := range draw(22+seed, n).Jobs {
				jobs = append(jobs, r.job())
				cs += r.Measured["cpu"]
				gs += r.Measured["gpu"]
				if r.PreferGPU {
					pg += r.Measured["gpu"]
				}
			}
			fmt.Printf("seed %d n %d cpu %.0f gpu %.0f\n", 22+seed, n, cs, gs)
			h := &placement.History{}
			ours, err := NewPredicted(h, placement.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name string
				p    Policy
			}{{"predicted", ours}, {"prefer_gpu", PreferGPU()}, {"round robin", RoundRobin("cpu-1", "cpu-2", "gpu-1")}, {"two queues", TwoQueues()}, {"shared", Shared()}} {
				begun := time.Now()
				r, err := Run(jobs, cluster(), c.p)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Printf("  %-12s makespan %6.1f response %6.1f busy %v acc %.2f bias %.2f  took %v\n", c.name, r.Makespan, r.Response, r.Busy, r.Accuracy.Typical(), r.Accuracy.Bias(), time.Since(begun))
			}
		}
	}
}
