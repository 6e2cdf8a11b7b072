package forest

import (
	"context"
	"errors"
	"fmt"

	"cancha/internal/cellio"
	"cancha/internal/master"
	"cancha/ml"
)

// Trainer grows forests elsewhere than in this process, such as on a cluster: [On] and spark.Trainer give one. What comes back is a forest as any
// other, which answers here.
type Trainer interface {
	// FitClassifier grows a forest on the labels of the dataset. What of the settings it cannot follow is refused before anything
	// starts, by the setting's name and with what to write instead. Config.Progress counts the Trainer's tasks, of which more may come:
	// total grows. When ctx ends, the work does.
	FitClassifier(ctx context.Context, d *ml.Dataset, c Config) (*Classifier, error)
	// FitRegressor does so on the targets of the dataset.
	FitRegressor(ctx context.Context, d *ml.Dataset, c Config) (*Regressor, error)
	// String tells where it grows them, without secrets: "Spark 4.0.0 at sc://host:15002".
	String() string
}

// sparkRoom exports what reaches Spark: func Trainer(ctx context.Context, master string) (forest.Trainer, error).
const sparkRoom, sparkTrainer = "cancha/spark", "Trainer"

// On returns what grows forests at a master, for [Config].Trainer: nil, which is this process, for local[*], and a Trainer for a Spark Connect server, such as
// sc://host:15002. "" is what the settings of a notebook's engine say (CANCHA_MASTER, cancha.master in cancha.conf), and this process in any other program.
// In a notebook the first Trainer builds in what reaches Spark; a program imports cancha/spark and calls spark.Trainer. A forest whose Config has no Trainer
// is grown here, whatever the settings say: what a cluster grows is another forest.
func On(ctx context.Context, text string) (Trainer, error) {
	read := master.Setting
	if text != "" {
		read = func() (master.Master, error) { return master.Parse(text) }
	}
	m, err := read()
	if err != nil {
		return nil, fmt.Errorf("forest: where it is to grow: %w", err)
	}
	if m.Local() {
		return nil, nil
	}
	opened, err := cellio.Room(ctx, sparkRoom, sparkTrainer)
	if errors.Is(err, cellio.ErrNoRooms) {
		return nil, fmt.Errorf(`forest: %s: only a notebook builds in what reaches Spark: import %q, and set Config.Trainer to what spark.Trainer(ctx, master) returns`, m, sparkRoom)
	}
	if err != nil {
		return nil, fmt.Errorf("forest: to grow on %s: %w; On(ctx, %q) grows forests here", m, err, master.Local)
	}
	connect, ok := opened.(func(context.Context, string) (Trainer, error))
	if !ok {
		return nil, fmt.Errorf("forest: %s.%s is a %T: this engine was built of another version; restart the kernel", sparkRoom, sparkTrainer, opened)
	}
	return connect(ctx, m.Text())
}

// elsewhere has a Trainer grow a forest, once what is wrong with data and settings has been told here.
func elsewhere[F any](ctx context.Context, d *ml.Dataset, c Config, classes bool, fit func(context.Context, *ml.Dataset, Config) (F, error)) (F, error) {
	var none F
	if _, err := check(d, c, classes); err != nil {
		return none, err
	}
	c.Trainer = nil
	f, err := fit(ctx, d, c)
	if err != nil {
		return none, fmt.Errorf("forest: %w", err)
	}
	return f, nil
}
