package spark_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/live"
	"cancha/runtime/table"
	"cancha/spark"
)

// A session, a query with a value in it, and a table of what comes back. It needs a server.
func ExampleConnect() {
	ctx := context.Background()
	s, err := spark.Connect(ctx, "sc://host:15002/;token=TOKEN")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	orders, err := s.SQL(ctx, "SELECT city, price FROM orders WHERE day >= ?", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	top, err := orders.GroupBy("city").Agg("count(*) AS n", "avg(price) AS mean").Sort("n DESC").Limit(10).Collect(ctx)
	fmt.Println(top, err)
}

// A bar that shows in a notebook how far the server has come. It needs a server.
func ExampleConfig_Connect() {
	bar := live.NewFrame()
	defer bar.Close()
	s, err := spark.Config{Master: "sc://host:15002", Progress: func(p spark.Stages) { bar.Set(p) }}.Connect(context.Background())
	fmt.Println(s, err)
}

// What is no address says what to write.
func ExampleConnect_wrong() {
	_, err := spark.Connect(context.Background(), "spark://host:7077")
	fmt.Println(err)
	// Output:
	// spark: master "spark://host:7077" is no address of Spark Connect; write sc://host:15002, the host where start-connect-server.sh was called (spark://…, yarn and local[…] are what that server is started with)
}

// Rows that are too many for a table here are handed over batch by batch. It needs a server.
func ExampleDataFrame_Each() {
	ctx := context.Background()
	s, err := spark.Connect(ctx, "sc://host:15002")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	enough := errors.New("enough")
	err = s.Range(0, 1_000_000_000).Each(ctx, func(rows *table.Table) error {
		fmt.Println(rows.Len())
		return enough // ends the work on the server
	})
	fmt.Println(err)
}

// The forest that forest.FitClassifier would grow here, on the server. It needs one.
func ExampleSession_FitForest() {
	ctx := context.Background()
	s, err := spark.Connect(ctx, "sc://host:15002")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	shots := s.Table("shots")
	m, err := s.FitForest(ctx, shots, ml.Roles{Label: "goal", Drop: []string{"player"}}, forest.Config{Trees: 200, MaxDepth: 12})
	if err != nil {
		fmt.Println(err)
		return
	}
	loss, err := m.Evaluate(ctx, shots, ml.NegLogLoss)
	fmt.Println(loss, err, m.Save(ctx, "s3a://models/goals", true))
}

func ExampleStages() {
	p := spark.Stages{Running: 4, Stages: []spark.Stage{{ID: 1, Tasks: 40, DoneTasks: 41, Bytes: 2_500_000_000, Done: true}, {ID: 2, Tasks: 8, DoneTasks: 2}}}
	fmt.Println(p)
	// Output:
	// [#####################---] 42 of 48 tasks, 4 running, 2.5 GB read; a task was run again: it failed, or a worker was lost
}

func ExampleExplanation_OnGPU() {
	e := spark.Explanation{Text: "== Physical Plan ==\nGpuColumnarToRow false\n+- GpuHashAggregate(keys=[city#1])\n   +- *(1) Scan parquet\n"}
	for _, operator := range e.OnGPU() {
		fmt.Println(operator)
	}
	// Output:
	// GpuColumnarToRow false
	// GpuHashAggregate(keys=[city#1])
}

func ExampleDecimal() {
	price := spark.Decimal("19.90")
	fmt.Println(price, price.Float64())
	r, _ := price.Rat()
	fmt.Println(r)
	// Output:
	// 19.90 19.9
	// 199/10
}

// A program's forest grows on a server and answers here. It needs a server.
func ExampleTrainer() {
	ctx := context.Background()
	cluster, err := spark.Trainer(ctx, "sc://host:15002")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := ml.OpenCSV("shots.csv", ml.Roles{Label: "goal"})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := forest.FitClassifier(ctx, rows, forest.Config{Trees: 100, MaxDepth: 12, Seed: 1, Trainer: cluster})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Score(ctx, rows))
}

// A forest of a table that stays on the server comes here, to answer where there is none. It needs a server.
func ExampleModel_Classifier() {
	ctx := context.Background()
	s, err := spark.Connect(ctx, "sc://host:15002")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	m, err := s.FitForest(ctx, s.Table("shots"), ml.Roles{Label: "goal"}, forest.Config{Trees: 100, MaxDepth: 12, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := m.Classifier(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Save("models/shots"))
}
