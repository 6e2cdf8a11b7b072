package spark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cancha/ml"
	"cancha/spark/internal/protocol"
)

// Model is a model that a session keeps on its server. It is gone with the session: Save it. Its methods may be called from any goroutine.
type Model struct {
	Features []string // the columns that it reads, in their order
	Classes  []string // that it tells apart, in their order; nil of one that predicts numbers
	Notes    []string // sentences that its user should read

	session *Session
	object  *protocol.MLObject
	class   string // Spark's, of Scala
	target  string // the column that it has learned
}

// String tells what the model answers, and from which columns; its notes stand below.
func (m *Model) String() string {
	learned := m.target
	if m.Classes != nil {
		learned += " (" + strings.Join(m.Classes, ", ") + ")"
	}
	kind := m.class[strings.LastIndexByte(m.class, '.')+1:]
	return strings.Join(append([]string{fmt.Sprintf("%s of %s from %s", kind, learned, strings.Join(m.Features, ", "))}, m.Notes...), "\n")
}

// take notes what the server says of a model.
func (m *Model) take(info *protocol.MLResult_Info) {
	m.object = info.GetObject()
	if w := info.GetWarning(); w != "" {
		m.Notes = append(m.Notes, w)
	}
	if later(m.session.Version(), 4, 1) {
		m.Notes = append(m.Notes, "From Spark 4.1 on a server stops growing trees, without an error, when a model passes a share of "+
			"spark.connect.session.connectML.mlCache.memoryControl.maxModelSize (1 GB), and moves models that were not used for a quarter of an hour to its disk.")
	}
}

// later tells whether a version is that one or a later one.
func later(version string, major, minor int) bool {
	a, rest, _ := strings.Cut(version, ".")
	b, _, _ := strings.Cut(rest, ".")
	is, err := strconv.Atoi(a)
	and, err2 := strconv.Atoi(b)
	return err == nil && err2 == nil && (is > major || is == major && and >= minor)
}

// Transform describes the rows of a frame, a stream among them, with what the model says of them: prediction, the name of a class or a number, and of
// classes probability, one for each in their order.
func (m *Model) Transform(d *DataFrame) *DataFrame {
	if d.session != m.session {
		return d.wrong(errors.New("spark: the model is in another session; Save it there, and Read it in this one"))
	}
	return d.with(func(in *protocol.Relation) *protocol.Relation {
		out := m.scored(in)
		drop := []string{vector}
		for i := range m.Features {
			drop = append(drop, copyOf(i))
		}
		if m.Classes != nil {
			out = withColumn(out, "probability", toArray("probability"))
			out = withColumn(out, "probability", text(padded("probability", len(m.Classes))))
			out = withColumn(out, "prediction", text("element_at("+m.classArray()+", CAST(prediction AS INT) + 1)"))
			drop = append(drop, "rawPrediction")
		}
		return &protocol.Relation{Of: &protocol.Relation_Drop{Drop: &protocol.Drop{Input: out, Names: drop}}}
	})
}

// scored is what Spark's model makes of rows, vectors and all.
func (m *Model) scored(in *protocol.Relation) *protocol.Relation {
	return &protocol.Relation{Of: &protocol.Relation_Ml{Ml: &protocol.MLRelation{Of: &protocol.MLRelation_Transform_{Transform: &protocol.MLRelation_Transform{
		By: &protocol.MLRelation_Transform_Object{Object: m.object}, Input: assembled(in, m.Features),
		Params: &protocol.MLParams{Params: map[string]*protocol.Literal{"featuresCol": word(vector)}}}}}}}
}

// toArray makes an array of a vector. The function has no name in SQL.
func toArray(column string) *protocol.Expr {
	double := &protocol.Expr{Of: &protocol.Expr_Literal{Literal: word("float64")}}
	return &protocol.Expr{Of: &protocol.Expr_Function_{Function: &protocol.Expr_Function{Name: "vector_to_array", Args: []*protocol.Expr{text(column), double}}}}
}

// padded makes an array as long as there are classes: Spark's model knows none behind the last of which it has seen a row.
func padded(column string, classes int) string {
	return fmt.Sprintf("concat(%s, array_repeat(0D, %d - size(%[1]s)))", column, classes)
}

// Evaluate scores the model on rows that have the column it has learned. Metrics have the names and the signs that they have here: a loss is negative.
// Of those Spark computes Accuracy and NegLogLoss, ROCAUC of two classes, and of numbers R2, NegMeanSquaredError, NegRootMeanSquaredError and
// NegMeanAbsoluteError. Others are errors.
func (m *Model) Evaluate(ctx context.Context, d *DataFrame, metric ml.Metric) (float64, error) {
	if err := m.session.owns(d); err != nil {
		return 0, err
	}
	e, err := evaluatorOf(metric, m.Classes)
	if err != nil {
		return 0, err
	}
	e.params["labelCol"], e.params["metricName"] = word(label), word(e.metric)
	r, err := m.session.ml(ctx, &protocol.MLCommand{Of: &protocol.MLCommand_Evaluate_{Evaluate: &protocol.MLCommand_Evaluate{
		Evaluator: operator("org.apache.spark.ml.evaluation."+e.class, protocol.MLOperator_EVALUATOR), Params: &protocol.MLParams{Params: e.params},
		Dataset: m.labelled(m.scored(d.relation))}}})
	if err != nil {
		return 0, err
	}
	v, ok := r.GetLiteral().GetOf().(*protocol.Literal_Double)
	if !ok {
		return 0, fmt.Errorf("spark: %s was answered with no number", metric)
	}
	return e.sign * v.Double, nil
}

// evaluator is one of Spark's, with the metric that it computes and the sign that it has here.
type evaluator struct {
	class, metric string
	sign          float64
	params        map[string]*protocol.Literal
}

func evaluatorOf(metric ml.Metric, classes []string) (evaluator, error) {
	e := evaluator{sign: 1, params: map[string]*protocol.Literal{}}
	switch {
	case classes != nil && metric == ml.Accuracy:
		e.class, e.metric = "MulticlassClassificationEvaluator", "accuracy"
	case classes != nil && metric == ml.NegLogLoss:
		e.class, e.metric, e.sign = "MulticlassClassificationEvaluator", "logLoss", -1
	case len(classes) == 2 && metric == ml.ROCAUC:
		e.class, e.metric = "BinaryClassificationEvaluator", "areaUnderROC"
		e.params["numBins"] = integer(0) // each score counts: the default rounds to a thousand
	case classes == nil && metric == ml.R2:
		e.class, e.metric = "RegressionEvaluator", "r2"
	case classes == nil && metric == ml.NegMeanSquaredError:
		e.class, e.metric, e.sign = "RegressionEvaluator", "mse", -1
	case classes == nil && metric == ml.NegRootMeanSquaredError:
		e.class, e.metric, e.sign = "RegressionEvaluator", "rmse", -1
	case classes == nil && metric == ml.NegMeanAbsoluteError:
		e.class, e.metric, e.sign = "RegressionEvaluator", "mae", -1
	case classes == nil:
		return e, fmt.Errorf("spark: Spark computes no %s of numbers; it has r2, neg_mean_squared_error, neg_root_mean_squared_error and neg_mean_absolute_error", metric)
	default:
		return e, fmt.Errorf("spark: Spark computes no %s of %d classes; it has accuracy, neg_log_loss, and roc_auc of two", metric, len(classes))
	}
	return e, nil
}

// Importances tell how much each of Features has lowered the impurity, together 1.
func (m *Model) Importances(ctx context.Context) ([]float64, error) {
	r, err := m.session.ml(ctx, &protocol.MLCommand{Of: &protocol.MLCommand_Fetch{Fetch: &protocol.Fetch{Object: m.object,
		Methods: []*protocol.Fetch_Method{{Name: "featureImportances"}}}}})
	if err != nil {
		return nil, err
	}
	v, err := vectorOf(r.GetLiteral())
	if err == nil && len(v) != len(m.Features) {
		err = fmt.Errorf("spark: %d importances for %d features", len(v), len(m.Features))
	}
	return v, err
}

// vectorOf reads one of Spark ML's vectors: type (0: sparse, 1: dense), size, indices, values.
func vectorOf(l *protocol.Literal) ([]float64, error) {
	parts := l.GetStruct().GetElements()
	if len(parts) != 4 {
		return nil, errors.New("spark: the answer is no vector")
	}
	values := doubles(parts[3])
	if parts[0].GetByte() == 1 {
		return values, nil
	}
	size, at := int(parts[1].GetInteger()), ints(parts[2])
	if size < 0 || size > 1<<20 || len(at) != len(values) {
		return nil, fmt.Errorf("spark: a vector of %d numbers at %d places of %d", len(values), len(at), size)
	}
	dense := make([]float64, size)
	for i, k := range at {
		if int(k) >= size || k < 0 {
			return nil, fmt.Errorf("spark: a vector of %d numbers with one at %d", size, k)
		}
		dense[k] = values[i]
	}
	return dense, nil
}

// doubles are the elements of an array, in either of its forms: Spark 4.1 has one for arrays of one plain type.
func doubles(l *protocol.Literal) []float64 {
	if s := l.GetSpecialized().GetDoubles(); s != nil {
		return s.Values
	}
	var all []float64
	for _, e := range l.GetArray().GetElements() {
		all = append(all, e.GetDouble())
	}
	return all
}

func ints(l *protocol.Literal) []int32 {
	if s := l.GetSpecialized().GetInts(); s != nil {
		return s.Values
	}
	var all []int32
	for _, e := range l.GetArray().GetElements() {
		all = append(all, e.GetInteger())
	}
	return all
}

// about is the folder inside of a saved model in which its features and classes are, which Spark does not keep.
const about = "/cancha"

// Save writes the model as Spark ML does, to a folder as the server sees it. One that is there is replaced if that is said, else it is an error.
// Package spark/mllib reads it without a server, and ReadModel with one.
func (m *Model) Save(ctx context.Context, path string, replace bool) error {
	path = strings.TrimSuffix(path, "/")
	if err := m.write(ctx, path, replace); err != nil {
		return err
	}
	text, err := json.Marshal(described{m.class, m.target, m.Features, m.Classes})
	if err != nil {
		return err
	}
	d, err := m.session.CreateFrame([]struct {
		Value string `json:"value"`
	}{{string(text)}})
	if err != nil {
		return err
	}
	return d.Repartition(1).Write(ctx, Save{Path: path + about, Format: "text", Mode: Overwrite})
}

// write writes what Spark keeps of a model.
func (m *Model) write(ctx context.Context, path string, replace bool) error {
	_, err := m.session.ml(ctx, &protocol.MLCommand{Of: &protocol.MLCommand_Write_{Write: &protocol.MLCommand_Write{
		Of: &protocol.MLCommand_Write_Object{Object: m.object}, Path: path, Overwrite: replace, Params: &protocol.MLParams{}}}})
	var e *Error
	if !replace && errors.As(err, &e) && strings.Contains(e.Text, "already exists") { // what Spark says then is how Scala and Python replace it
		return fmt.Errorf("%w; Save(ctx, path, true) replaces it", err)
	}
	return err
}

// described is what Save keeps of a model beside what Spark keeps.
type described struct {
	Class    string   `json:"class"`
	Target   string   `json:"target"`
	Features []string `json:"features"`
	Classes  []string `json:"classes"`
}

// ReadModel reads a model of trees that Save has written, or Spark itself: then roles name its Features, its Label or Target, and its Classes.
func (s *Session) ReadModel(ctx context.Context, path string, roles ml.Roles) (*Model, error) {
	path = strings.TrimSuffix(path, "/")
	of, err := s.described(ctx, path, roles)
	if err != nil {
		return nil, err
	}
	kind := strings.TrimPrefix(strings.TrimPrefix(of.Class, classification), regression)
	switch kind {
	case "RandomForestClassificationModel", "GBTClassificationModel", "RandomForestRegressionModel", "GBTRegressionModel":
	default:
		return nil, fmt.Errorf("spark: %s holds a %s, and only forests and boosted trees are read here", path, of.Class)
	}
	if len(of.Features) == 0 || strings.Contains(kind, "Classification") != (len(of.Classes) > 1) {
		return nil, fmt.Errorf("spark: %s was written by Spark: name in roles the Features of the model, and of classes Label and Classes", path)
	}
	r, err := s.ml(ctx, &protocol.MLCommand{Of: &protocol.MLCommand_Read_{Read: &protocol.MLCommand_Read{
		Operator: &protocol.MLOperator{Class: of.Class, Kind: protocol.MLOperator_MODEL}, Path: path}}})
	if err != nil {
		return nil, err
	}
	m := &Model{session: s, class: of.Class, target: of.Target, Features: of.Features, Classes: of.Classes}
	m.take(r.GetInfo())
	return m, nil
}

// described reads what Save has kept, or else what Spark tells and roles add.
func (s *Session) described(ctx context.Context, path string, roles ml.Roles) (of described, err error) {
	if roles.Features != nil {
		return s.describedBySpark(ctx, path, roles)
	}
	text, err := s.textOf(ctx, path+about)
	if err != nil {
		return of, fmt.Errorf("%w; of a model that Spark has written itself, name Features, Label or Target, and Classes in roles", err)
	}
	if err := json.Unmarshal([]byte(text), &of); err != nil {
		return of, fmt.Errorf("spark: what Save has kept in %s: %w; name Features, Label or Target, and Classes in roles", path+about, err)
	}
	return of, nil
}

// describedBySpark reads Spark's metadata. A forest would score rows of another number of features as well: by the first of them, if they are more.
func (s *Session) describedBySpark(ctx context.Context, path string, roles ml.Roles) (of described, err error) {
	text, err := s.textOf(ctx, path+"/metadata")
	if err != nil {
		return of, err
	}
	var its struct {
		Class       string `json:"class"`
		NumFeatures int    `json:"numFeatures"` // 0: it does not say
		NumClasses  int    `json:"numClasses"`
	}
	if err := json.Unmarshal([]byte(text), &its); err != nil {
		return of, fmt.Errorf("spark: the metadata of %s: %w", path, err)
	}
	switch n, classes := len(roles.Features), len(roles.Classes); {
	case its.NumFeatures > 0 && n != its.NumFeatures:
		return of, fmt.Errorf("spark: the model in %s has %d features, and roles name %d; name those that it was trained with, in their order", path, its.NumFeatures, n)
	case classes > 0 && classes < its.NumClasses:
		return of, fmt.Errorf("spark: the model in %s tells %d classes apart, and roles name %d; name all, in their order", path, its.NumClasses, classes)
	}
	return described{its.Class, roles.Label + roles.Target, roles.Features, roles.Classes}, nil
}

// textOf reads a file of one line.
func (s *Session) textOf(ctx context.Context, path string) (string, error) {
	rows, err := s.Read(Source{Format: "text", Paths: []string{path}}).Limit(1).Collect(ctx)
	if err != nil {
		return "", err
	}
	lines, err := rows.Strings("value")
	if err != nil || len(lines) == 0 {
		return "", fmt.Errorf("spark: %s is empty", path)
	}
	return lines[0], nil
}

// Delete lets the server forget the model. What was saved stays.
func (m *Model) Delete(ctx context.Context) error {
	_, err := m.session.ml(ctx, &protocol.MLCommand{Of: &protocol.MLCommand_Delete_{Delete: &protocol.MLCommand_Delete{Objects: []*protocol.MLObject{m.object}}}})
	return err
}
