package spark

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cancha/internal/running"
	"cancha/ml"
	"cancha/ml/forest"
	"cancha/spark/internal/protocol"
)

// Boosting says how gradient-boosted trees are grown. Spark has them for two classes, and for numbers.
type Boosting struct {
	Trees          int     // iterations, 0: 100 (Spark's own default is 20)
	LearningRate   float64 // above 0 to 1; 0: 0.1
	MaxDepth       int     // 1 to 30; 0: 5
	MaxBins        int     // of each column, from 2 on; 0: 32
	MinSamplesLeaf int     // 0: 1
	MaxFeatures    float64 // a count, a fraction below 1, forest.All, forest.Sqrt or forest.Log2; 0: All
	MaxSamples     float64 // the fraction of the rows drawn for each tree; 0: 1
	Seed           uint64
}

// What the columns that training needs are called, beside those of the frame.
const (
	vector = "cancha_features"
	label  = "cancha_label"
	weight = "cancha_weight"
)

const (
	classification = "org.apache.spark.ml.classification."
	regression     = "org.apache.spark.ml.regression."
	mostClasses    = 100 // as many as Spark's trees take without being told otherwise
)

// FitForest grows a forest on the server from the rows of a frame: of classes if roles name a Label, of numbers if they name a Target. The roles
// Features, Drop, Weight and Classes count as they do here; others are errors, as is a setting that Spark has no counterpart of. Beside the randomness
// of the samples these things differ from forests that are grown here: MaxDepth 0 is 30, the most that Spark's trees have; MinSamplesLeaf counts rows
// with repetition; MinImpurityDecrease is not weighted by the node's share of all rows; bins are quantiles of a sample of the rows. The forest stays in
// the session: Save it.
func (s *Session) FitForest(ctx context.Context, d *DataFrame, roles ml.Roles, c forest.Config) (*Model, error) {
	var m *Model
	err := running.NewJob(running.Fit, "random forest on Spark", 0, "").Do(func() (err error) {
		m, err = s.fitForest(ctx, d, roles, c)
		return err
	})
	return m, err
}

// fitForest is FitForest, listed nowhere.
func (s *Session) fitForest(ctx context.Context, d *DataFrame, roles ml.Roles, c forest.Config) (*Model, error) {
	params, notes, err := forestParams(c, roles.Target == "")
	if err != nil {
		return nil, err
	}
	names := [2]string{classification + "RandomForestClassifier", regression + "RandomForestRegressor"}
	m, err := s.fit(ctx, d, roles, names, params)
	if m != nil {
		m.Notes = append(notes, m.Notes...)
	}
	return m, err
}

// FitBoosting grows gradient-boosted trees on the server from the rows of a frame; see FitForest for the roles. There may be two classes.
func (s *Session) FitBoosting(ctx context.Context, d *DataFrame, roles ml.Roles, c Boosting) (*Model, error) {
	params, err := c.params()
	if err != nil {
		return nil, err
	}
	var m *Model
	err = running.NewJob(running.Fit, "boosted trees on Spark", 0, "").Do(func() (err error) {
		m, err = s.fit(ctx, d, roles, [2]string{classification + "GBTClassifier", regression + "GBTRegressor"}, params)
		return err
	})
	return m, err
}

// fit trains by one of two estimators: of classes and of numbers.
func (s *Session) fit(ctx context.Context, d *DataFrame, roles ml.Roles, estimators [2]string, params map[string]*protocol.Literal) (*Model, error) {
	if err := checkRoles(roles); err != nil {
		return nil, err
	}
	if err := s.owns(d); err != nil {
		return nil, err
	}
	m := &Model{session: s, target: roles.Label + roles.Target}
	if err := m.learnColumns(ctx, d, roles); err != nil {
		return nil, err
	}
	estimator := estimators[0]
	if roles.Target != "" {
		estimator = estimators[1]
	}
	if strings.HasSuffix(estimator, "GBTClassifier") && len(m.Classes) != 2 {
		return nil, fmt.Errorf("spark: column %q has %d classes, and Spark's boosted trees tell two apart: use FitForest", roles.Label, len(m.Classes))
	}
	params["featuresCol"], params["labelCol"] = word(vector), word(label)
	data := m.labelled(assembled(d.relation, m.Features))
	if roles.Weight != "" {
		params["weightCol"] = word(weight)
		data = withColumn(data, weight, text("CAST("+quote1(roles.Weight)+" AS DOUBLE)"))
	}
	fit := &protocol.MLCommand{Of: &protocol.MLCommand_Fit_{Fit: &protocol.MLCommand_Fit{
		Estimator: operator(estimator, protocol.MLOperator_ESTIMATOR), Params: &protocol.MLParams{Params: params}, Dataset: data}}}
	info, err := s.ml(ctx, fit)
	if err != nil {
		return nil, err
	}
	m.take(info.GetInfo())
	m.class = modelClass(estimator)
	return m, nil
}

// owns tells whether a frame is one of this session, where its views are those that it names.
func (s *Session) owns(d *DataFrame) error {
	if d.err == nil && d.session != s {
		return errors.New("spark: the frame is of another session, whose views this one does not have; make it of this session")
	}
	return d.err
}

// modelClass is what Spark calls the model of an estimator.
func modelClass(estimator string) string {
	for _, kind := range []string{"Classifier", "Regressor"} {
		if name, ok := strings.CutSuffix(estimator, kind); ok {
			return name + strings.NewReplacer("Classifier", "Classification", "Regressor", "Regression").Replace(kind) + "Model"
		}
	}
	return estimator
}

// checkRoles names the roles that have no counterpart.
func checkRoles(r ml.Roles) error {
	switch {
	case (r.Label == "") == (r.Target == ""):
		return errors.New("spark: roles name the column to learn: Label for classes, or Target for numbers, and not both")
	case r.Group != "":
		return fmt.Errorf("spark: role Group (%s): Spark's samples are of rows; leave it out, or train here", r.Group)
	case len(r.OneHot) > 0 || len(r.Ordinal) > 0:
		return errors.New("spark: roles OneHot and Ordinal: make numbers of texts in SQL, such as CAST(city = 'Lima' AS INT)")
	case r.Missing:
		return errors.New("spark: role Missing: Spark's trees take no row with a missing feature; fill it, with coalesce, or leave the row out")
	}
	return nil
}

// learnColumns fills in what the frame decides: features and classes.
func (m *Model) learnColumns(ctx context.Context, d *DataFrame, roles ml.Roles) error {
	fields, err := d.Schema(ctx)
	if err != nil {
		return err
	}
	if err := haveRoles(fields, roles); err != nil {
		return err
	}
	m.Features = slices.Clone(roles.Features)
	for _, f := range fields {
		if roles.Features == nil && f.Name != m.target && f.Name != roles.Weight && !slices.Contains(roles.Drop, f.Name) {
			m.Features = append(m.Features, f.Name)
		}
	}
	for _, name := range m.Features {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("spark: there is no column %q to learn from; there are %s", name, namesOf(fields))
		}
		if t := fields[i].Type; !numeric(t) {
			return fmt.Errorf("spark: column %q is %s, and features are numbers: make one of it in SQL, or name it in Drop", name, t)
		}
	}
	if len(m.Features) == 0 {
		return errors.New("spark: no column to learn from")
	}
	if roles.Label != "" {
		return m.learnClasses(ctx, d, roles)
	}
	return nil
}

// haveRoles names the first column of a role that is not there, or has two. Spark itself finds a column by a name in other cases of letters, so that
// Target "Price" would be learned from the column price, which is then a feature too.
func haveRoles(fields []Field, roles ml.Roles) error {
	other := slices.Concat([]string{roles.Label + roles.Target, roles.Weight}, roles.Drop)
	for i, name := range other {
		switch {
		case name == "" && i < 2: // no such role
		case !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }):
			return fmt.Errorf("spark: there is no column %q, which a role names; there are %s", name, namesOf(fields))
		case slices.Contains(other[:i], name) || slices.Contains(roles.Features, name):
			return fmt.Errorf("spark: column %q has two roles; leave one", name)
		}
	}
	return nil
}

func namesOf(fields []Field) string {
	var names []string
	for _, f := range fields {
		names = append(names, strconv.Quote(f.Name))
	}
	return strings.Join(names, ", ")
}

func numeric(t string) bool {
	switch t {
	case "tinyint", "smallint", "int", "bigint", "float", "double", "boolean":
		return true
	}
	return strings.HasPrefix(t, "decimal")
}

// learnClasses reads which labels there are, in their order, as Dataset does it.
func (m *Model) learnClasses(ctx context.Context, d *DataFrame, roles ml.Roles) error {
	if roles.Classes != nil {
		m.Classes = slices.Clone(roles.Classes)
		return nil
	}
	column := quote1(roles.Label)
	rows, err := d.Select(column).Distinct().Sort(column).Limit(mostClasses + 1).Select("CAST(" + column + " AS STRING) AS class").Collect(ctx)
	if err != nil {
		return err
	}
	if m.Classes, err = rows.Strings("class"); err != nil {
		return err
	}
	for i := range m.Classes {
		if rows.Value(i, "class") == nil {
			return fmt.Errorf("spark: column %q lacks the class of some rows: leave these out, with Where(%q)", roles.Label, column+" IS NOT NULL")
		}
	}
	sortByValue(m.Classes)
	switch n := len(m.Classes); {
	case n > mostClasses:
		return fmt.Errorf("spark: column %q has more than %d classes; if it is a number, name it as Target", roles.Label, mostClasses)
	case n < 2:
		return fmt.Errorf("spark: column %q has %d classes, and telling apart takes two", roles.Label, n)
	}
	return nil
}

// sortByValue sorts texts as numbers if all are: Spark has put "10" before "2", where they stand in a column of texts.
func sortByValue(texts []string) {
	values := map[string]float64{}
	for _, text := range texts {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			return
		}
		values[text] = v
	}
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
}

// labelled adds the column to learn: a class by its number, from 0.
func (m *Model) labelled(in *protocol.Relation) *protocol.Relation {
	if m.Classes == nil {
		return withColumn(in, label, text("CAST("+quote1(m.target)+" AS DOUBLE)"))
	}
	number := "array_position(" + m.classArray() + ", CAST(" + quote1(m.target) + " AS STRING))"
	return withColumn(in, label, text("CAST(nullif("+number+", 0) - 1 AS DOUBLE)"))
}

// classArray is the classes as SQL.
func (m *Model) classArray() string {
	names := make([]string, len(m.Classes))
	for i, c := range m.Classes {
		names[i] = sqlText(c)
	}
	return "array(" + strings.Join(names, ", ") + ")"
}

// sqlText writes a text for SQL.
func sqlText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// quote1 writes a name for SQL that is one name, points and all.
func quote1(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// assembled adds the features in one column, which is how Spark ML takes them. A name with a point in it would be a part of a struct there.
func assembled(in *protocol.Relation, features []string) *protocol.Relation {
	names := &protocol.Literal_Array{Type: &protocol.DataType{Of: &protocol.DataType_String_{String_: &protocol.DataType_Plain{}}}}
	for i, f := range features {
		if strings.ContainsAny(f, ".`") {
			in = withColumn(in, copyOf(i), text(quote1(f)))
			f = copyOf(i)
		}
		names.Elements = append(names.Elements, word(f))
	}
	return &protocol.Relation{Of: &protocol.Relation_Ml{Ml: &protocol.MLRelation{Of: &protocol.MLRelation_Transform_{Transform: &protocol.MLRelation_Transform{
		By:    &protocol.MLRelation_Transform_Transformer{Transformer: operator("org.apache.spark.ml.feature.VectorAssembler", protocol.MLOperator_TRANSFORMER)},
		Input: in,
		Params: &protocol.MLParams{Params: map[string]*protocol.Literal{
			"inputCols": {Of: &protocol.Literal_Array_{Array: names}}, "outputCol": word(vector)}},
	}}}}}
}

// copyOf is what a feature is called that has a name of another sort.
func copyOf(feature int) string { return fmt.Sprintf("cancha_feature_%d", feature) }

// operator names one of Spark ML's parts; its uid is what a saved model is called by.
func operator(class string, kind protocol.MLOperator_Kind) *protocol.MLOperator {
	var random [6]byte
	rand.Read(random[:]) // never fails
	return &protocol.MLOperator{Class: class, Uid: class[strings.LastIndexByte(class, '.')+1:] + "_" + hex.EncodeToString(random[:]), Kind: kind}
}

// ml runs a command of Spark ML.
func (s *Session) ml(ctx context.Context, c *protocol.MLCommand) (*protocol.MLResult, error) {
	var result *protocol.MLResult
	err := s.do(ctx, &protocol.Command{Of: &protocol.Command_Ml{Ml: c}}, func(r *protocol.ExecuteResponse) bool {
		if got := r.GetMl(); got != nil {
			result = got
		}
		return result != nil
	})
	return result, err
}
