package spark

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cancha/ml/forest"
	"cancha/ml/tree"
	"cancha/runtime/session"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/trees"
)

// Classifier brings a RandomForestClassificationModel here: a forest that answers without the server, with the probabilities of Transform to 1e-12. On its
// way the model lies in a folder of the cluster's, see Config.Folder, which is removed afterwards. Rows that lack a number have no answer here.
func (m *Model) Classifier(ctx context.Context) (*forest.Classifier, error) {
	made, err := m.bring(ctx, "RandomForestClassificationModel", len(m.Classes))
	if err != nil {
		return nil, err
	}
	return forest.NewClassifier(slices.Clone(m.Features), slices.Clone(m.Classes), made)
}

// Regressor brings a RandomForestRegressionModel here; see Classifier.
func (m *Model) Regressor(ctx context.Context) (*forest.Regressor, error) {
	made, err := m.bring(ctx, "RandomForestRegressionModel", 0)
	if err != nil {
		return nil, err
	}
	return forest.NewRegressor(slices.Clone(m.Features), made)
}

// bring reads the trees of a model of a class.
func (m *Model) bring(ctx context.Context, class string, classes int) (made []*tree.Tree, err error) {
	if kind := m.class[strings.LastIndexByte(m.class, '.')+1:]; kind != class {
		return nil, fmt.Errorf("spark: the model is a %s, and what comes here this way is a %s; Save it, and open it with cancha/spark/mllib, which says what it reads", kind, class)
	}
	place, err := m.session.lend(ctx)
	if err != nil {
		return nil, fmt.Errorf("spark: bring the model here: %w", err)
	}
	defer func() { err = errors.Join(err, place.giveBack(ctx)) }()
	if err := m.write(ctx, place.path+"/model", false); err != nil {
		return nil, place.failed(err)
	}
	table, err := m.session.nodes(ctx, place.path+"/model/data", classes)
	if err != nil {
		return nil, place.failed(err) // in a folder that each machine has for itself there are no files
	}
	return table.Build(len(m.Features), nil)
}

func (l *lent) failed(err error) error {
	return fmt.Errorf("spark: bring the model here by %s: %w; Config.Folder, or CANCHA_SPARK_FOLDER, names another folder, which all of the cluster reaches", l.path, err)
}

// nodeColumns are what is asked of a node, in the order of addNodes: one column each, since a row of parts takes many times as much memory here.
func nodeColumns(classes int) []string {
	sql := []string{"treeID", "nodeData.id", "nodeData.leftChild", "nodeData.rightChild", "nodeData.split.featureIndex", "nodeData.split.numCategories",
		"nodeData.prediction", "nodeData.gain", "get(nodeData.split.leftCategoriesOrThreshold, 0) AS threshold",
		"CASE WHEN nodeData.split.numCategories >= 0 THEN nodeData.split.leftCategoriesOrThreshold END AS categories"}
	for i := range trees.New(classes).Width() { // fewer of a model none of whose rows was of the last class
		sql = append(sql, fmt.Sprintf("coalesce(get(nodeData.impurityStats, %d), 0D) AS statistic%d", i, i))
	}
	return sql
}

// nodes reads what Spark ML has saved in a folder of data.
func (s *Session) nodes(ctx context.Context, path string, classes int) (*trees.Table, error) {
	table, sql := trees.New(classes), nodeColumns(classes)
	err := s.Read(Source{Format: "parquet", Paths: []string{path}}).Select(sql...).batches(ctx, func(b *columns.Batch, _ int) error {
		if len(b.Columns) != len(sql) {
			return fmt.Errorf("%d columns came for %d", len(b.Columns), len(sql))
		}
		return addNodes(table, b)
	})
	if err == nil {
		err = table.Divide()
	}
	return table, err
}

// addNodes takes a batch of nodeColumns.
func addNodes(table *trees.Table, b *columns.Batch) error {
	var whole [6][]int64
	floats := make([][]float64, len(b.Columns))
	for i, c := range b.Columns {
		var ok bool
		switch {
		case i < len(whole):
			whole[i], ok = c.Values.([]int64)
		case i == 9:
			_, ok = c.Values.([]any)
		default:
			floats[i], ok = c.Values.([]float64)
		}
		if !ok {
			return fmt.Errorf("column %q of nodes is %s; is it a forest?", c.Name, c.Type)
		}
	}
	stats := make([]float64, table.Width())
	for row, n := 0, table.Grow(b.Rows); row < len(n); row++ {
		n[row] = trees.Node{Tree: int32(whole[0][row]), ID: int32(whole[1][row]), Left: int32(whole[2][row]), Right: int32(whole[3][row]), Feature: int32(whole[4][row]),
			Categories: int32(whole[5][row]), Prediction: floats[6][row], Gain: floats[7][row]}
		if err := n[row].Split(split(b.Columns[9].Value(row), floats[8][row])); err != nil {
			return err
		}
		for k := range stats {
			stats[k] = floats[10+k][row]
		}
		if err := table.Statistics(&n[row], stats); err != nil {
			return err
		}
	}
	return nil
}

// split is what a node asks for: the categories that go left, or else a threshold.
func split(categories any, threshold float64) []float64 {
	all, ok := categories.([]any)
	if !ok {
		return []float64{threshold}
	}
	list := make([]float64, len(all))
	for i, v := range all {
		list[i], _ = v.(float64)
	}
	return list
}

// lent is a folder of the cluster's for the moment of a model's way. It is the place of a schema, because that is what a client can have removed with all that
// is in it: Spark Connect knows no files.
type lent struct {
	session *Session
	path    string
	schema  string // "" where the catalog has made none: the folder then stays
}

// defaultFolder is in the cluster's own file system: on YARN HDFS, on Databricks DBFS, and where there is no such the disk of one machine, which then all of it is.
const defaultFolder = "/tmp/cancha"

// folder is where models lie on their way.
func (s *Session) folder() (string, error) {
	if s.config.Folder != "" {
		return s.config.Folder, nil
	}
	c, err := session.Environment()
	return cmp.Or(c.SparkFolder, defaultFolder), err
}

// lend makes a folder. Where the catalog lets nobody make a schema with a place, models are written all the same, and stay.
func (s *Session) lend(ctx context.Context) (*lent, error) {
	folder, err := s.folder()
	if err != nil {
		return nil, err
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	l := &lent{session: s, schema: "cancha_" + hex.EncodeToString(random[:])}
	l.path = strings.TrimRight(folder, "/") + "/" + l.schema
	_, err = s.SQL(ctx, "CREATE SCHEMA "+quote1(l.schema)+" COMMENT 'a model on its way to a notebook; may be dropped' LOCATION "+sqlText(l.path))
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		l.schema = ""
		s.note(fmt.Sprintf("The catalog makes no schema with a place (%v), so the files of a model that came here stay in %s.", err, l.path))
	}
	return l, nil
}

// giveBack removes the folder, also when ctx has ended.
func (l *lent) giveBack(ctx context.Context) error {
	if l.schema == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), besideCells{}, true), removing) // also where the cell was interrupted
	defer stop()
	if _, err := l.session.SQL(ctx, "DROP SCHEMA IF EXISTS "+quote1(l.schema)+" CASCADE"); err != nil {
		return fmt.Errorf("spark: the folder %s stays: %w; DROP SCHEMA %s CASCADE removes it", l.path, err, l.schema)
	}
	return nil
}

// removing is how long removing a folder may take.
const removing = 20 * time.Second
