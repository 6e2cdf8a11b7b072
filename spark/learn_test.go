package spark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/tree"
	"cancha/runtime/gpu"
	"cancha/runtime/table"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

func TestForestParams(t *testing.T) {
	params, notes, err := forestParams(forest.Config{}, true)
	if err != nil {
		t.Fatal(err)
	}
	want := `bootstrap=true featureSubsetStrategy="sqrt" impurity="gini" maxBins=256 maxDepth=30 minInfoGain=0 minInstancesPerNode=1 numTrees=100 seed=0 subsamplingRate=1`
	if got := written(params); got != want || len(notes) != 1 || !strings.Contains(notes[0], "30 levels") {
		t.Errorf("of the zero Config: %s, notes %q\nwant %s, and a note on the depth", got, notes, want)
	}
	params, notes, err = forestParams(forest.Config{Trees: 7, Criterion: tree.SquaredError, MaxDepth: 5, MaxFeatures: 0.25, MinSamplesLeaf: 3, MinImpurityDecrease: 0.5,
		MaxBins: 32, NoBootstrap: true, Seed: 9}, false)
	if err != nil {
		t.Fatal(err)
	}
	want = `bootstrap=false featureSubsetStrategy="0.25" impurity="variance" maxBins=32 maxDepth=5 minInfoGain=0.5 minInstancesPerNode=3 numTrees=7 seed=9 subsamplingRate=1`
	if got := written(params); got != want || len(notes) != 2 || !strings.HasPrefix(notes[0], "MinSamplesLeaf") || !strings.HasPrefix(notes[1], "MinImpurityDecrease") {
		t.Errorf("got %s, notes %q\nwant %s, and two notes", got, notes, want)
	}
}

// written lists parameters in the order of their names.
func written(params map[string]*protocol.Literal) string {
	var all []string
	for name, l := range params {
		var v any
		switch x := l.Of.(type) {
		case *protocol.Literal_Integer:
			v = x.Integer
		case *protocol.Literal_Long:
			v = x.Long
		case *protocol.Literal_Double:
			v = x.Double
		case *protocol.Literal_String_:
			v = fmt.Sprintf("%q", x.String_)
		case *protocol.Literal_Boolean:
			v = x.Boolean
		}
		all = append(all, fmt.Sprintf("%s=%v", name, v))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestMaxFeatures(t *testing.T) {
	for f, want := range map[float64]string{0: "sqrt", forest.All: "all", forest.Sqrt: "sqrt", forest.Log2: "log2", 0.5: "0.5", 3: "3", 1: "1"} {
		if got, err := strategyOf(f, true); got != want || err != nil {
			t.Errorf("%v is %q, %v, want %q", f, got, err, want)
		}
	}
	if got, _ := strategyOf(0, false); got != "all" {
		t.Errorf("of numbers 0 is %q, want all", got)
	}
	for _, wrong := range []float64{-7, 1.5, 1e12} {
		if got, err := strategyOf(wrong, true); err == nil {
			t.Errorf("%v is %q, want an error", wrong, got)
		}
	}
}

// TestForestWithout: each setting without a counterpart is an error by its name.
func TestForestWithout(t *testing.T) {
	for want, c := range map[string]forest.Config{
		"MaxLeafNodes":        {MaxLeafNodes: 8},
		"MinSamplesSplit":     {MinSamplesSplit: 3},
		"MinImpurityDecrease": {MinImpurityDecrease: -1},
		"ByGroup":             {ByGroup: true},
		"OOB":                 {OOB: true},
		"ClassWeight":         {Balanced: true},
		"MaxBins: Exact":      {MaxBins: forest.Exact},
		"Session":             {Session: &gpu.Session{}},
		"Workers":             {Workers: 2},
		"Progress":            {Progress: func(int, int) {}},
		"MaxSamples":          {NoBootstrap: true, MaxSamples: 0.5},
		`Criterion "poisson"`: {Criterion: tree.Poisson},
		"MaxDepth 31":         {MaxDepth: 31},
		"-1 trees":            {Trees: -1},
		"MaxBins 1":           {MaxBins: 1},
		"MinSamplesLeaf -1":   {MinSamplesLeaf: -1},
		"MaxSamples 2":        {MaxSamples: 2},
		"MaxFeatures 1.5":     {MaxFeatures: 1.5},
	} {
		if _, _, err := forestParams(c, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	for want, c := range map[string]Boosting{"LearningRate 2": {LearningRate: 2}, "MaxDepth 40": {MaxDepth: 40}, "MaxFeatures -9": {MaxFeatures: -9}} {
		if _, err := c.params(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	params, err := Boosting{Trees: 3}.params()
	want := `featureSubsetStrategy="all" maxBins=32 maxDepth=5 maxIter=3 minInstancesPerNode=1 seed=0 stepSize=0.1 subsamplingRate=1`
	if got := written(params); got != want || err != nil {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

// school is a server on which a frame has the columns x, y.z, city, kind and w, and which answers what has to do with models.
func school(t *testing.T, version string, labels ...string) (*server, *[]*protocol.MLCommand) {
	var commands []*protocol.MLCommand
	schema := `{"schema":{"schema":{"struct":{"fields":[{"name":"x","type":{"double":{}}},{"name":"y.z","type":{"long":{}}},{"name":"city","type":{"string":{}}},{"name":"kind","type":{"string":{}}},{"name":"w","type":{"double":{}}}]}}}}`
	fake := connecttest.Config{Version: version, Analyze: func(*protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
		r := new(protocol.AnalyzeResponse)
		return r, protojson.Unmarshal([]byte(schema), r)
	}}
	s := start(t, Config{}, fake, func(_ context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		c := p.GetCommand().GetMl()
		if c == nil {
			return rows(t, send, columns.Column{Name: "class", Values: labels})
		}
		commands = append(commands, c)
		r := new(protocol.MLResult)
		answer := `{"info":{"object":{"id":"model-1"}}}`
		switch {
		case c.GetEvaluate() != nil:
			answer = `{"literal":{"double":0.25}}`
		case c.GetFetch() != nil:
			answer = `{"literal":{"struct":{"elements":[{"byte":0},{"integer":2},{"array":{"elements":[{"integer":1}]}},{"array":{"elements":[{"double":1}]}}]}}}`
		}
		if err := protojson.Unmarshal([]byte(answer), r); err != nil {
			return err
		}
		send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Ml{Ml: r}})
		return nil
	})
	return s, &commands
}

func TestFitForest(t *testing.T) {
	s, commands := school(t, "4.0.0", "goal", "it's wide")
	m, err := s.FitForest(t.Context(), s.Table("shots"), ml.Roles{Label: "kind", Drop: []string{"city", "w"}}, forest.Config{MaxDepth: 6, Trees: 20})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(m.Features, m.Classes, m.Notes) != "[x y.z] [goal it's wide] []" {
		t.Errorf("it is %+v", m)
	}
	fit := (*commands)[0].GetFit()
	if got := fit.GetEstimator().GetClass(); got != "org.apache.spark.ml.classification.RandomForestClassifier" {
		t.Errorf("trained by %s", got)
	}
	with := fit.GetDataset().GetWithColumns()
	if got, want := with.GetAliases()[0].GetExpr().GetText().GetSql(), "CAST(nullif(array_position(array('goal', 'it\\'s wide'), CAST(`kind` AS STRING)), 0) - 1 AS DOUBLE)"; got != want {
		t.Errorf("the class is %s\nwant %s", got, want)
	}
	var names []string
	for _, e := range with.GetInput().GetMl().GetTransform().GetParams().GetParams()["inputCols"].GetArray().GetElements() {
		names = append(names, e.GetString_())
	}
	if fmt.Sprint(names) != "[x cancha_feature_1]" { // a name with a point means a part of a struct there
		t.Errorf("assembled from %v", names)
	}
	scored := m.Transform(s.Table("shots"))
	if got := scored.relation.GetDrop().GetInput().GetWithColumns().GetAliases()[0].GetExpr().GetText().GetSql(); got != "element_at(array('goal', 'it\\'s wide'), CAST(prediction AS INT) + 1)" {
		t.Errorf("the prediction is %s", got)
	}
	probability := scored.relation.GetDrop().GetInput().GetWithColumns().GetInput().GetWithColumns().GetAliases()[0]
	if got := probability.GetExpr().GetText().GetSql(); probability.GetName()[0] != "probability" || got != "concat(probability, array_repeat(0D, 2 - size(probability)))" {
		t.Errorf("%v are %s", probability.GetName(), got)
	}
	if v, err := m.Evaluate(t.Context(), s.Table("shots"), ml.NegLogLoss); v != -0.25 || err != nil {
		t.Errorf("the log loss is %v, %v, want -0.25", v, err)
	}
	if v, err := m.Importances(t.Context()); fmt.Sprint(v) != "[0 1]" || err != nil {
		t.Errorf("importances %v, %v, want 0 and 1", v, err)
	}
	if err := m.Delete(t.Context()); err != nil || (*commands)[len(*commands)-1].GetDelete().GetObjects()[0].GetId() != "model-1" {
		t.Errorf("deleted %v, %v", *commands, err)
	}
	other, _ := school(t, "4.0.0")
	if _, err := m.Evaluate(t.Context(), other.Table("shots"), ml.NegLogLoss); err == nil || !strings.Contains(err.Error(), "of another session") {
		t.Errorf("of a frame of another session: got error %v", err)
	}
	for metric, want := range map[ml.Metric]string{ml.F1Macro: "no f1_macro of 2 classes", ml.R2: "no r2 of 2 classes"} {
		if _, err := m.Evaluate(t.Context(), s.Table("shots"), metric); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", metric, err, want)
		}
	}
}

// TestClassOrder: the classes of a frame are in the order in which those of a Dataset are, which Spark sorts otherwise.
func TestClassOrder(t *testing.T) {
	for _, labels := range [][]string{{"1", "10", "2"}, {"-1", "-2", "0.5"}, {"1", "10", "2", "x"}} {
		s, _ := school(t, "4.0.0", labels...)
		m, err := s.FitForest(t.Context(), s.Table("shots"), ml.Roles{Label: "kind", Features: []string{"x"}}, forest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		here, err := table.New(table.Series{Name: "kind", Values: labels})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := (ml.Roles{Label: "kind"}).Learn(here); err != nil || !slices.Equal(m.Classes, r.Classes) {
			t.Errorf("of %q they are %q there, and %q, %v here", labels, m.Classes, r.Classes, err)
		}
	}
}

func TestFitNumbers(t *testing.T) {
	s, commands := school(t, "4.1.2")
	m, err := s.FitBoosting(t.Context(), s.Table("shots"), ml.Roles{Target: "x", Features: []string{"y.z"}, Weight: "w"}, Boosting{})
	if err != nil {
		t.Fatal(err)
	}
	fit := (*commands)[0].GetFit()
	if fit.GetEstimator().GetClass() != "org.apache.spark.ml.regression.GBTRegressor" || fit.GetParams().GetParams()["weightCol"].GetString_() != weight || fit.GetDataset().GetWithColumns().GetAliases()[0].GetExpr().GetText().GetSql() != "CAST(`w` AS DOUBLE)" || m.class != "org.apache.spark.ml.regression.GBTRegressionModel" {
		t.Errorf("trained by %v, a %s", fit, m.class)
	}
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "From Spark 4.1 on") {
		t.Errorf("notes %q, want one on the limit of models", m.Notes)
	}
	if v, err := m.Evaluate(t.Context(), s.Table("shots"), ml.R2); v != 0.25 || err != nil {
		t.Errorf("R² is %v, %v", v, err)
	}
	if _, err := m.Evaluate(t.Context(), s.Table("shots"), ml.Accuracy); err == nil || !strings.Contains(err.Error(), "no accuracy of numbers") {
		t.Errorf("got error %v", err)
	}
}

func TestFitRefuses(t *testing.T) {
	s, _ := school(t, "4.0.0", "a", "b", "c")
	one, _ := school(t, "4.0.0", "a")
	for want, fit := range map[string]func() (*Model, error){
		"and not both": func() (*Model, error) { return s.FitForest(t.Context(), s.Table("a"), ml.Roles{}, forest.Config{}) },
		"role Group (city)": func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Target: "x", Group: "city"}, forest.Config{})
		},
		"roles OneHot and Ordinal": func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Target: "x", OneHot: []string{"city"}}, forest.Config{})
		},
		"role Missing": func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Target: "x", Missing: true}, forest.Config{})
		},
		`column "city" is string`: func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Label: "kind"}, forest.Config{})
		},
		`no column "nope"`: func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Label: "kind", Features: []string{"nope"}}, forest.Config{})
		},
		`no column "X", which a role names; there are "x", "y.z", "city", "kind", "w"`: func() (*Model, error) { // Spark would learn from x
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Target: "X"}, forest.Config{})
		},
		`no column "Kind"`: func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Target: "x", Drop: []string{"Kind"}}, forest.Config{})
		},
		`no column "W"`: func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Target: "x", Weight: "W"}, forest.Config{})
		},
		`column "x" has two roles`: func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Target: "x", Features: []string{"x", "y.z"}}, forest.Config{})
		},
		"of another session": func() (*Model, error) {
			return s.FitForest(t.Context(), one.Table("a"), ml.Roles{Target: "x", Features: []string{"y.z"}}, forest.Config{})
		},
		"no column to learn from": func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a"), ml.Roles{Label: "kind", Features: []string{}}, forest.Config{})
		},
		"has 3 classes, and Spark's": func() (*Model, error) {
			return s.FitBoosting(t.Context(), s.Table("a"), ml.Roles{Label: "kind", Features: []string{"x"}}, Boosting{})
		},
		"has 1 classes": func() (*Model, error) {
			return one.FitForest(t.Context(), one.Table("a"), ml.Roles{Label: "kind", Features: []string{"x"}}, forest.Config{})
		},
		"Limit of -1": func() (*Model, error) {
			return s.FitForest(t.Context(), s.Table("a").Limit(-1), ml.Roles{Label: "kind"}, forest.Config{})
		},
	} {
		if m, err := fit(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, error %v, want %q in it", m, err, want)
		}
	}
}

// TestReadModelRefuses: a model of Spark's own is one of as many features and classes as roles name, and what Save has kept is in one piece.
func TestReadModelRefuses(t *testing.T) {
	texts := map[string]string{"/m/metadata": `{"class":"org.apache.spark.ml.classification.RandomForestClassificationModel","numFeatures":2,"numClasses":3,"numTrees":20}`, "/m/cancha": "{"}
	s := start(t, Config{}, connecttest.Config{}, func(_ context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		if p.GetCommand().GetMl() != nil {
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Ml{Ml: &protocol.MLResult{}}})
			return nil
		}
		path := p.GetRoot().GetLimit().GetInput().GetRead().GetSource().GetPaths()[0]
		return rows(t, send, columns.Column{Name: "value", Values: []string{texts[path]}})
	})
	three := []string{"a", "b", "c"}
	for want, roles := range map[string]ml.Roles{
		"has 2 features, and roles name 1":           {Features: three[:1], Label: "kind", Classes: three},
		"has 2 features, and roles name 3":           {Features: three, Label: "kind", Classes: three},
		"tells 3 classes apart, and roles name 2":    {Features: three[:2], Label: "kind", Classes: three[:2]},
		"spark: what Save has kept in /m/cancha: un": {},
	} {
		if _, err := s.ReadModel(t.Context(), "/m/", roles); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	if _, err := s.ReadModel(t.Context(), "/m", ml.Roles{Features: three[:2], Label: "kind", Classes: three}); err != nil {
		t.Errorf("two features and three classes: %v", err)
	}
}

// TestSaveThere: of a place that is taken, Save says how it is replaced from Go; Spark says how from Scala and Python.
func TestSaveThere(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, func(context.Context, *protocol.Plan, func(*protocol.ExecuteResponse)) error {
		return errors.New("Path /m already exists. To overwrite it, please use write.overwrite().save(path) for Scala")
	})
	m := &Model{session: s.Session, class: classification + "RandomForestClassificationModel"}
	if err := m.Save(t.Context(), "/m", false); err == nil || !strings.HasSuffix(err.Error(), "Save(ctx, path, true) replaces it") {
		t.Errorf("got error %v", err)
	}
}

func TestModelString(t *testing.T) {
	m := &Model{Features: []string{"x", "y"}, Classes: []string{"lost", "won"}, class: classification + "RandomForestClassificationModel", target: "end"}
	if got, want := m.String(), "RandomForestClassificationModel of end (lost, won) from x, y"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m = &Model{Features: []string{"x"}, Notes: []string{"A note."}, class: regression + "GBTRegressionModel", target: "price"}
	if got, want := m.String(), "GBTRegressionModel of price from x\nA note."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestVectors(t *testing.T) {
	for text, want := range map[string]string{
		`{"struct":{"elements":[{"byte":1},{},{},{"specialized":{"doubles":{"values":[0.5,0.5]}}}]}}`:                                             "[0.5 0.5]",
		`{"struct":{"elements":[{"byte":0},{"integer":3},{"specialized":{"ints":{"values":[2]}}},{"specialized":{"doubles":{"values":[1]}}}]}}`:   "[0 0 1]",
		`{"struct":{"elements":[{"byte":0},{"integer":1},{"specialized":{"ints":{"values":[2]}}},{"specialized":{"doubles":{"values":[1]}}}]}}`:   "one at 2",
		`{"struct":{"elements":[{"byte":0},{"integer":9},{"specialized":{"ints":{"values":[2,3]}}},{"specialized":{"doubles":{"values":[1]}}}]}}`: "1 numbers at 2 places",
		`{"string":"x"}`: "no vector",
	} {
		l := new(protocol.Literal)
		if err := protojson.Unmarshal([]byte(text), l); err != nil {
			t.Fatal(err)
		}
		v, err := vectorOf(l)
		if got := fmt.Sprint(v, err); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
