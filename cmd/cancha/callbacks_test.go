package main

import (
	"go/importer"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"cancha/internal/symbols"
)

// How the library calls what it is handed there.
const (
	onCaller = "on its caller's goroutine, where a panic passes, a Goexit ends it, and an interrupt and os.Exit end the cell"
	inQuery  = "in a query: stream.TestPanics, stream.TestGoexit, kernel/eval.TestPanicReachesCaller"
	contains = "on a goroutine of its own, by callback.Do or as that does: its error"
	asJob    = "in a worker: worker.call"
	asComm   = "in a run of its own: eval.Program.Handle"
	asDrawn  = "as it is drawn: live.contained"
	byDevice = "in a device's queue: host.launch"
	noCode   = "a value of the library's own, which cells do not write"
)

// callbacks are the places of the library's exported API that take a function, or what has methods that a user may write. Whoever adds one
// says here how a panic in it, a Goexit, a loop without an end and os.Exit come out, and tries it.
var callbacks = map[string]string{
	"cancha/jobs.Cluster.Register(f)": asJob, "cancha/jobs.Map(f)": asJob, "cancha/jobs/worker.Config.Funcs": asJob,
	"cancha/jobs.Config.Broker": noCode, "cancha/jobs/local.Serve(b)": noCode, "cancha/jobs/placement.Settings.Strategy": contains, "cancha/jobs/queue.Delivery.Settler": noCode, "cancha/jobs/scheduler.Start(b)": noCode,
	"cancha/jobs/server.Config.Broker": noCode, "cancha/jobs/worker.Config.Broker": noCode, "cancha/jobs/store.Await(held)": onCaller, "cancha/jobs/store.Store.Open(each)": onCaller,
	"cancha/jobs/store.Store.Unsent(each)": onCaller, "cancha/jobs/worker.NewTask(tell)": onCaller, "cancha/jobs/report.Measures.Print(w)": onCaller, "cancha/jobs/report.OpenJournal(each)": onCaller,

	"cancha/ml.CrossPredict(learn)": onCaller, "cancha/ml.CrossPredictProba(learn)": onCaller, "cancha/ml.CrossValidate(learn)": onCaller, "cancha/ml.CrossValidate(scorers)": onCaller,
	"cancha/ml.DateSplit(date)": onCaller, "cancha/ml.ForwardFolds(when)": onCaller, "cancha/ml.FromTable(t)": onCaller, "cancha/ml.GridSearch(learn)": onCaller,
	"cancha/ml.Metric.Score(model)": onCaller, "cancha/ml.OwnScore.Score(m)": onCaller, "cancha/ml.PredictNumbers(r)": onCaller, "cancha/ml.PredictProba(c)": onCaller,
	"cancha/ml.RandomSearch(draws)": onCaller, "cancha/ml.RandomSearch(learn)": onCaller, "cancha/ml.ReadCSV(r)": onCaller, "cancha/ml.Roles.Learn(t)": onCaller,
	"cancha/ml.ScoreClassifier(c)": onCaller, "cancha/ml.ScoreRegressor(r)": onCaller, "cancha/ml.Search.Model": onCaller, "cancha/ml.SearchConfig.Progress": onCaller,
	"cancha/ml.SearchConfig.Scorer": onCaller, "cancha/ml/calibrate.Fit(learn)": onCaller, "cancha/ml/calibrate.FitOn(m)": onCaller, "cancha/ml/calibrate.OpenWith(load)": onCaller,
	"cancha/ml/forest.Config.Progress": contains, "cancha/ml/forest.Config.Trainer": onCaller, "cancha/ml/inspect.Depend(m)": onCaller, "cancha/ml/inspect.Permute(m)": onCaller,
	"cancha/ml/inspect.PermuteConfig.Progress": onCaller, "cancha/ml/inspect.PermuteConfig.Scorer": onCaller, "cancha/ml/lwp.BandConfig.Progress": onCaller,
	"cancha/ml/lwp.FitClassifier(learn)": onCaller, "cancha/ml/lwp.Load(archive)": contains, "cancha/ml/lwp.Learner.Fit": onCaller, "cancha/ml/lwp.Load(progress)": contains, "cancha/ml/lwp.OpenClassifier(load)": onCaller,
	"cancha/ml/lwp.Predictions.WriteCSV(w)": onCaller, "cancha/ml/nn.Config.Progress": onCaller, "cancha/ml/nn.FitOn(device)": noCode, "cancha/ml/nn.FitOn(queue)": noCode,

	"cancha/runtime/gpu.Job.CPU": byDevice, "cancha/runtime/gpu.Job.Run": onCaller, "cancha/runtime/gpu.Memory(d)": noCode, "cancha/runtime/gpu/compare.Config.Progress": onCaller,
	"cancha/runtime/gpu/compare.Work.Run": onCaller, "cancha/runtime/gpu/driver.Funcs": noCode, "cancha/runtime/gpu/driver.Arg.Memory": noCode, "cancha/runtime/gpu/driver.At(m)": noCode,
	"cancha/runtime/gpu/driver.CheckRange(m)": noCode, "cancha/runtime/gpu/driver.Launch.Module": noCode, "cancha/runtime/gpu/driver.LibraryFunc.Grid": onCaller,
	"cancha/runtime/gpu/driver.LibraryFunc.Host": byDevice, "cancha/runtime/gpu/driver.LibraryFunc.Need": onCaller, "cancha/runtime/gpu/driver.LibraryFunc.Work": onCaller,
	"cancha/runtime/gpu/driver.Loaded.Add(load)": noCode,

	"cancha/runtime/live.Every(fn)": onCaller, "cancha/runtime/live.Frame.SetFunc(fn)": asDrawn, "cancha/runtime/live/comm.Comm.OnClose(handle)": asComm,
	"cancha/runtime/live/comm.Comm.OnMessage(handle)": asComm, "cancha/runtime/live/comm.RegisterTarget(opened)": asComm, "cancha/runtime/live/widget.Button.OnClick(f)": asComm,
	"cancha/runtime/live/widget.Checkbox.OnChange(f)": asComm, "cancha/runtime/live/widget.Dropdown.OnChange(f)": asComm, "cancha/runtime/live/widget.FloatProgress.OnChange(f)": asComm,
	"cancha/runtime/live/widget.FloatSlider.OnChange(f)": asComm, "cancha/runtime/live/widget.HBox.SetChildren(children)": noCode, "cancha/runtime/live/widget.IntSlider.OnChange(f)": asComm,
	"cancha/runtime/live/widget.NewHBox(children)": noCode, "cancha/runtime/live/widget.NewVBox(children)": noCode, "cancha/runtime/live/widget.Output.With(f)": onCaller,
	"cancha/runtime/live/widget.Text.OnChange(f)": asComm, "cancha/runtime/live/widget.Text.OnSubmit(f)": asComm, "cancha/runtime/live/widget.VBox.SetChildren(children)": noCode,
	"cancha/runtime/session/conf.Parse(r)": onCaller, "cancha/runtime/table.Table.Filter(keep)": onCaller,

	"cancha/statsbomb.Decoder.Other": onCaller, "cancha/statsbomb.ReadResults(r)": onCaller, "cancha/statsbomb.Select(a)": onCaller, "cancha/statsbomb.Where(a)": onCaller,
	"cancha/statsbomb.WithResults(a)": onCaller, "cancha/statsbomb.WriteFolder(a)": onCaller, "cancha/statsbomb.WriteFolder(progress)": onCaller, "cancha/statsbomb/fetch.AccountFrom(getenv)": onCaller,
	"cancha/statsbomb/fetch.Config.Progress": contains, "cancha/statsbomb/fetch.Config.Warn": contains, "cancha/statsbomb/replay.Config.PartitionOf": onCaller, "cancha/statsbomb/replay.Config.Warn": contains,
	"cancha/statsbomb/replay.Run(archive)": contains, "cancha/statsbomb/replay.Run(out)": onCaller, "cancha/statsbomb/replay.Run(progress)": contains,
	"cancha/statsbomb/streaming.Events(source)": inQuery, "cancha/statsbomb/streaming.MinuteStatistics(source)": inQuery, "cancha/statsbomb/streaming.NewBoard(scorer)": inQuery,
	"cancha/statsbomb/streaming.Predictions.WriteCSV(w)": onCaller, "cancha/statsbomb/streaming.Score(source)": inQuery, "cancha/statsbomb/streaming.WriteWindowsCSV(w)": onCaller,

	"cancha/stream.From(source)": inQuery, "cancha/stream.Generate(make)": inQuery, "cancha/stream.Generator.Run(h)": noCode, "cancha/stream.Job.Sinks": inQuery, "cancha/stream.MemorySource.Run(h)": noCode,
	"cancha/stream.Processing.Row": inQuery, "cancha/stream.Processing.State": inQuery, "cancha/stream.Processing.Timer": inQuery, "cancha/stream.Query.Checkpoint(place)": inQuery,
	"cancha/stream.Query.DeadLetters(sink)": inQuery, "cancha/stream.Query.FilterFunc(f)": inQuery, "cancha/stream.Query.Format(f)": inQuery, "cancha/stream.Query.MapFunc(f)": inQuery,
	"cancha/stream.Query.On(engine)": inQuery, "cancha/stream.Query.To(sink)": inQuery, "cancha/stream.RecordProcessing.New": inQuery, "cancha/stream.Rows.Filter(keep)": onCaller,
	"cancha/stream.Rows.Named(name)": onCaller, "cancha/stream.Rows.WriteCSV(w)": onCaller, "cancha/stream.Running.Savepoint(to)": onCaller, "cancha/stream.SinkFunc(write)": inQuery,
	"cancha/stream/checkpoint.Copy(from)": onCaller, "cancha/stream/checkpoint.Copy(to)": onCaller, "cancha/stream/checkpoint.Finished(place)": onCaller, "cancha/stream/checkpoint.Load(place)": onCaller,
	"cancha/stream/file.Files.Hears(sink)": onCaller, "cancha/stream/file.Files.Run(h)": noCode, "cancha/stream/kafka.ProducerConfig.Retry": contains, "cancha/stream/kafka.TopicConfig.Retry": onCaller,
	"cancha/stream/plan.Expr.Fields(found)": onCaller, "cancha/stream/plan.Expr.Optional(found)": onCaller,
}

// TestCallbacks: each place of the exported API of the library wing that calls what a user has written is in the list, and nothing else is.
func TestCallbacks(t *testing.T) {
	found := map[string]bool{}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", symbols.Export)
	for _, p := range symbols.Packages() {
		if !strings.HasPrefix(p.Path, "cancha/") {
			continue
		}
		pkg, err := imp.Import(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				findCallbacks(o, func(place string) { found[p.Path+"."+place] = true })
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(found)) {
		if callbacks[place] == "" {
			t.Errorf("%s takes what a user has written, and the list does not say how it is called", place)
		}
	}
	for place := range callbacks {
		if !found[place] {
			t.Errorf("%s is in the list, and takes nothing that a user writes", place)
		}
	}
	if len(found) < 100 {
		t.Errorf("%d places found: the export data have been misread", len(found))
	}
}

// findCallbacks tells add of the parameters and fields of an exported object that take what a user writes.
func findCallbacks(o types.Object, add func(place string)) {
	parameters := func(name string, sig *types.Signature) {
		for v := range sig.Params().Variables() {
			if callsUser(v.Type(), 0) {
				add(name + "(" + v.Name() + ")")
			}
		}
	}
	switch o := o.(type) {
	case *types.Func:
		parameters(o.Name(), o.Signature())
	case *types.Var:
		if callsUser(o.Type(), 0) {
			add(o.Name())
		}
	case *types.TypeName:
		n, ok := o.Type().(*types.Named)
		if !ok || o.IsAlias() {
			return
		}
		for m := range n.Methods() {
			if m.Exported() {
				parameters(o.Name()+"."+m.Name(), m.Signature())
			}
		}
		s, _ := n.Underlying().(*types.Struct)
		for i := 0; s != nil && i < s.NumFields(); i++ {
			if f := s.Field(i); f.Exported() && callsUser(f.Type(), 0) {
				add(o.Name() + "." + f.Name())
			}
		}
	}
}

// callsUser reports whether a value of a type may be a function, or have methods, that a user has written.
func callsUser(t types.Type, depth int) bool {
	switch name := types.TypeString(t, nil); name {
	case "context.Context", "error", "fmt.State":
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Interface:
		for m := range u.Methods() {
			if !m.Exported() {
				return false
			}
		}
		return u.NumMethods() > 0
	case *types.Slice, *types.Array, *types.Map:
		return depth < 4 && callsUser(u.(interface{ Elem() types.Type }).Elem(), depth+1)
	}
	return false
}
