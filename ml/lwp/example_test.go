package lwp_test

import (
	"context"
	"fmt"

	"cancha/ml/forest"
	"cancha/ml/lwp"
	"cancha/runtime/gpu"
	"cancha/statsbomb"
	"cancha/statsbomb/simulate"
)

// season loads a short simulated season and cuts it in two.
func season() (train, later *lwp.Matches) {
	all, err := lwp.Load(context.Background(), simulate.New(simulate.Config{Seed: 3, Matches: 60, Teams: 8}), nil)
	if err != nil {
		panic(err)
	}
	train, later, err = all.Split(all.DateAt(.7))
	if err != nil {
		panic(err)
	}
	return train, later
}

func ExampleFit() {
	train, later := season()
	model, err := lwp.Fit(context.Background(), train, lwp.Config{Target: lwp.Average, Forest: forest.Config{Trees: 10, Seed: 1}})
	if err != nil {
		panic(err)
	}
	p := model.Predict(later).P[0]
	fmt.Println(model.Name(), len(p), p[0]+p[1]+p[2] > .999999)
	// Output: average of Poisson and forest 3 true
}

func ExampleReport_CompareLogLoss() {
	train, later := season()
	model, err := lwp.Fit(context.Background(), train, lwp.Config{Target: lwp.Average, Forest: forest.Config{Trees: 10, Seed: 1}})
	if err != nil {
		panic(err)
	}
	report, err := lwp.Evaluate(train, later, model)
	if err != nil {
		panic(err)
	}
	d, err := report.CompareLogLoss(model.Name(), "frequencies by minute and score")
	if err != nil {
		panic(err)
	}
	worst, err := report.Worst(model.Name(), 3)
	if err != nil {
		panic(err)
	}
	minutes, err := report.ByMinute(model.Name())
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Low <= d.Mean && d.Mean <= d.High, len(worst.List), len(minutes.Parts))
	// Output: true 3 6
}

func ExampleFitBand() {
	train, later := season()
	model, err := lwp.Fit(context.Background(), train, lwp.Config{Target: lwp.Average, Forest: forest.Config{Trees: 10, Seed: 1}})
	if err != nil {
		panic(err)
	}
	band, err := lwp.FitBand(context.Background(), train, model, lwp.BandConfig{Refits: 10, Seed: 1})
	if err != nil {
		panic(err)
	}
	p := model.Predict(later)
	curve, err := p.Curve(p.Liveliest())
	if err != nil {
		panic(err)
	}
	band.Add(curve)
	fmt.Println(len(curve.Low), len(curve.High[0]), curve.Low[0][30] < curve.Home[30] && curve.Home[30] < curve.High[0][30])
	// Output: 3 91 true
}

func ExampleNewLiveOn() {
	train, _ := season()
	model, err := lwp.Fit(context.Background(), train, lwp.Config{Target: lwp.Average, Forest: forest.Config{Trees: 10, Seed: 1}})
	if err != nil {
		panic(err)
	}
	session, err := gpu.NewSession(context.Background(), gpu.Config{Device: gpu.CPU}) // gpu.GPU, or the zero value: where it is faster
	if err != nil {
		panic(err)
	}
	defer session.Close()
	scorer, err := lwp.NewLiveOn(session, model, 0)
	if err != nil {
		panic(err)
	}
	defer scorer.Close()
	kickOff := statsbomb.MatchEvent{Home: statsbomb.Ref{ID: 1}, Away: statsbomb.Ref{ID: 2}}
	answers := make([][]float64, 1)
	if err := scorer.Score(context.Background(), []statsbomb.MatchEvent{kickOff}, answers); err != nil {
		panic(err)
	}
	asked := session.Explain().Decisions[0]
	fmt.Println(len(answers[0]), asked.Operation, "on the", asked.Place)
	// Output: 3 forest predict on the CPU
}
