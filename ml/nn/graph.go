package nn

import (
	"context"
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"cancha/internal/blas"
	"cancha/ml"
)

// UseBLAS has gorgonia multiply with the house's own BLAS, in all of the program, on that many cores; 0 is all. FitGraph then takes the
// optimizer's steps with it as well, which are half of the time that is left. restore gives back what gorgonia multiplied with before.
// Neither is for while a graph runs.
func UseBLAS(cores int) (restore func()) {
	before := gorgonia.WhichBLAS()
	gorgonia.Use(blas.New(blas.Pool{Cores: cores}).Implementation())
	return func() { gorgonia.Use(before) }
}

// FitGraph trains a network as Fit does, as a graph of gorgonia on the CPU, with the BLAS that gorgonia uses now. It returns between two
// batches, with ctx's cause, when ctx is done.
func FitGraph(ctx context.Context, d *ml.Dataset, c Config) (*Network, error) {
	l, err := prepare(d, c)
	if err != nil {
		return nil, err
	}
	if own, ok := gorgonia.WhichBLAS().(blas.Implementation); ok {
		return l.fitGraph(ctx, &solver{adam: l.config.Adam, blas: own.BLAS()})
	}
	a := l.config.Adam
	return l.fitGraph(ctx, gorgonia.NewAdamSolver(gorgonia.WithLearnRate(float64(a.Rate)), gorgonia.WithBeta1(float64(a.Beta1)),
		gorgonia.WithBeta2(float64(a.Beta2)), gorgonia.WithEps(float64(a.Epsilon))))
}

// fitGraph is runGraph as a job that can be watched.
func (l *lesson) fitGraph(ctx context.Context, solver gorgonia.Solver) (n *Network, err error) {
	err = l.listed.Do(func() (err error) {
		n, err = l.runGraph(ctx, solver)
		return err
	})
	return n, err
}

// runGraph trains from the first weights to the network.
func (l *lesson) runGraph(ctx context.Context, solver gorgonia.Solver) (n *Network, err error) {
	params := l.shape.first(l.config.Seed)
	graphs := map[int]*graph{} // by rows of a batch: the last batch of an epoch may have fewer
	defer func() {
		for _, g := range graphs {
			err = errors.Join(err, g.close())
		}
	}()
	losses := make([]float64, l.config.Epochs)
	for epoch := 1; epoch <= l.config.Epochs; epoch++ {
		rows := order(l.config.Seed, epoch, len(l.labels))
		for i := range l.batches() {
			if err := context.Cause(ctx); err != nil {
				return nil, fmt.Errorf("nn: training ended before batch %d of epoch %d: %w", i+1, epoch, err)
			}
			batch := rows[i*l.config.Batch:][:l.rows(i)]
			g := graphs[len(batch)]
			if g == nil {
				if g, err = newGraph(l.shape, len(batch), params); err != nil {
					return nil, fmt.Errorf("nn: build a graph for %d rows: %w", len(batch), err)
				}
				graphs[len(batch)] = g
			}
			loss, err := g.step(l, batch, solver)
			if err != nil {
				return nil, fmt.Errorf("nn: batch %d of epoch %d: %w", i+1, epoch, err)
			}
			if err := l.report(losses, epoch, i+1, loss); err != nil {
				return nil, err
			}
		}
	}
	return l.network(params, losses)
}

// graph is the network as gorgonia has it, for batches of so many rows. Graphs of different rows share their parameters' memory.
type graph struct {
	x, y      []float32 // rows, and their classes as ones among zeros: the memory of the graph's inputs
	loss      gorgonia.Value
	machine   gorgonia.VM
	learnable []gorgonia.ValueGrad
}

func newGraph(s shape, rows int, params []float32) (*graph, error) {
	g, built := &graph{x: make([]float32, rows*s.in), y: make([]float32, rows*s.out)}, gorgonia.NewGraph()
	matrix := func(name string, backing []float32, shape ...int) *gorgonia.Node {
		value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
		return gorgonia.NewTensor(built, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...), gorgonia.WithValue(value))
	}
	x, y := matrix("x", g.x, rows, s.in), matrix("y", g.y, rows, s.out)
	w1, b1 := matrix("weight1", params[:s.bias1()], s.in, s.hidden), matrix("bias1", params[s.bias1():s.weight2()], 1, s.hidden)
	w2, b2 := matrix("weight2", params[s.weight2():s.bias2()], s.hidden, s.out), matrix("bias2", params[s.bias2():], 1, s.out)
	loss, err := meanLoss(x, y, w1, b1, w2, b2)
	if err != nil {
		return nil, err
	}
	gorgonia.Read(loss, &g.loss)
	learned := gorgonia.Nodes{w1, b1, w2, b2}
	if _, err := gorgonia.Grad(loss, learned...); err != nil {
		return nil, fmt.Errorf("differentiate: %w", err)
	}
	g.machine = gorgonia.NewTapeMachine(built, gorgonia.BindDualValues(learned...))
	g.learnable = gorgonia.NodesToValueGrads(learned)
	return g, nil
}

// meanLoss is the mean of -log softmax(relu(x·w1 + b1)·w2 + b2) at the ones of y.
func meanLoss(x, y, w1, b1, w2, b2 *gorgonia.Node) (*gorgonia.Node, error) {
	hidden, err := layer(x, w1, b1)
	if err != nil {
		return nil, fmt.Errorf("hidden layer: %w", err)
	}
	if hidden, err = relu(hidden); err != nil {
		return nil, fmt.Errorf("relu: %w", err)
	}
	logits, err := layer(hidden, w2, b2)
	if err != nil {
		return nil, fmt.Errorf("output layer: %w", err)
	}
	logs, err := gorgonia.LogSoftMax(logits)
	if err != nil {
		return nil, fmt.Errorf("softmax: %w", err)
	}
	chosen, err := gorgonia.HadamardProd(y, logs)
	if err != nil {
		return nil, fmt.Errorf("cross-entropy: %w", err)
	}
	sum, err := gorgonia.Sum(chosen)
	if err != nil {
		return nil, fmt.Errorf("cross-entropy: %w", err)
	}
	return gorgonia.Mul(sum, gorgonia.NewConstant(-1/float32(x.Shape()[0])))
}

func layer(x, weight, bias *gorgonia.Node) (*gorgonia.Node, error) {
	product, err := gorgonia.Mul(x, weight)
	if err != nil {
		return nil, err
	}
	return gorgonia.BroadcastAdd(product, bias, nil, []byte{0})
}

// relu is x where it is above 0. At 0 its derivative is 0, as the fused funcs have it (and PyTorch); that of gorgonia's Rectify is 1, and
// a row of zeros in front of biases of 0 is at 0 with each unit.
func relu(x *gorgonia.Node) (*gorgonia.Node, error) {
	above, err := gorgonia.Gt(x, gorgonia.NewConstant(float32(0)), true)
	if err != nil {
		return nil, err
	}
	return gorgonia.HadamardProd(x, above)
}

// step runs the graph on some rows and lets the solver change the parameters.
func (g *graph) step(l *lesson, rows []int32, solver gorgonia.Solver) (loss float64, err error) {
	clear(g.y)
	for i, row := range rows {
		copy(g.x[i*l.shape.in:][:l.shape.in], l.values[int(row)*l.shape.in:])
		g.y[i*l.shape.out+int(l.labels[row])] = 1
	}
	defer g.machine.Reset()
	if err := g.machine.RunAll(); err != nil {
		return 0, err
	}
	mean, ok := g.loss.Data().(float32)
	if !ok {
		return 0, fmt.Errorf("the graph's loss is a %T", g.loss.Data())
	}
	return float64(mean), solver.Step(g.learnable)
}

func (g *graph) close() error { return g.machine.Close() }
