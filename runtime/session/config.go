package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"cancha/internal/master"
	"cancha/runtime/session/conf"
)

// Config is what a run may use. A field that is zero is not set: see [Configure].
type Config struct {
	Device  string   // auto (the default), gpu or cpu: where operations run that can do either
	Master  string   // where queries run: local[*] (the default) is this process, sc://host:15002 a Spark Connect server. See [Configure]
	Cores   int      // of the CPU; the default is GOMAXPROCS
	Memory  int64    // bytes that the run may take, of which an engine ends that passes it; 0 is no limit. See [Configure]
	Brokers []string // Kafka brokers, host:port; empty is the embedded one
	Data    string   // folder of match data; "" is none
	// SparkFolder is where a model lies for a moment on its way from a cluster: a folder that all of the cluster reaches, as s3a://bucket/place; "" is /tmp/cancha
	// in the cluster's own file system.
	SparkFolder string

	GPU         string  // index or UUID of the GPU; "" is the first that is free
	GPUAmount   float64 // of the GPU, that a task takes, 0 to 1; the default is 1: the whole
	GPUTasks    int     // that work on the GPU at once; the default is as many as GPUAmount lets in
	GPUMemory   int64   // bytes of the GPU's memory that the run may take; 0 is nine tenths of what is free
	GPUPinned   int64   // bytes of pinned memory for copies; 0 is none
	GPURequired bool    // without a GPU there is an error instead of the CPU
	TF32        bool    // products of matrices on the GPU may round to 10 bits
	Explain     string  // all (the default), not_on_gpu or none: which operations a session explains

	UI      string // true (the default) or false: whether an engine has a page that shows what runs. See [UI]
	UIHost  string // where the page listens; the default is 127.0.0.1. Elsewhere its address needs the token
	UIPort  int    // of the page, or the next free one of sixteen; the default is 4040
	UIToken string // for the page's address, at least 16 characters; "" is one by chance

	origins map[string]string // by key, where a setting comes from
}

// Setting is one setting of a configuration.
type Setting struct {
	Key, Value string
	From       string // "argument", the variable, the file with its line, or "default"
}

// The environment variables that name files and folders.
const (
	FileVariable    = "CANCHA_CONF"   // file of settings; unset is cancha.conf in the current folder, if there is one
	BrokersVariable = "KAFKA_BROKERS" // host:port, separated by commas; unset is the embedded broker
	DataVariable    = "CANCHA_DATA"   // folder of match data in the open-data layout; unset is the simulator
)

// DefaultFile is the file of settings that is read where FileVariable names none.
const DefaultFile = "cancha.conf"

// Environment reads the configuration from the environment, the file of settings and the defaults, see [Configure].
func Environment() (Config, error) { return Configure(Config{}) }

// Configure completes a configuration: what args has set counts before the environment's variables, these before the file of settings
// and that before the defaults. The file has lines like "cancha.device gpu"; a variable is called like CANCHA_DEVICE. It may also be
// Spark's spark-defaults.conf, whose settings count where cancha.… says nothing. An error names the variable, or the file and the line.
// The memory of an engine is that of its start: as an argument Memory is refused, unless it is what the engine has anyway.
//
// Master is written as for Spark: local and local[*] are this process, local[4] is this process with Cores 4, unless Cores is set too, and
// sc://host:15002/;token=TOKEN a server with parameters. A query that does not name its own (stream's Query.Master) takes the environment's or the
// file's; one that Configure is given reaches a query that is given it: q.Master(config.Master). Settings, String and errors show no token.
func Configure(args Config) (Config, error) {
	file, err := openFile()
	if err != nil {
		return Config{}, fmt.Errorf("session: %w", err)
	}
	sources := []source{environment, file.own, file.spark, byDefault}
	if args.Memory != 0 {
		if begun, err := configure(Config{}, sources...); err != nil || begun.Memory != args.Memory {
			return Config{}, errors.Join(errMemory, err)
		}
	}
	c, err := configure(args, sources...)
	return checked(c, file.known(), err)
}

// checked returns a configuration, or all that is wrong with its settings.
func checked(c Config, faults ...error) (Config, error) {
	if err := errors.Join(faults...); err != nil {
		return Config{}, fmt.Errorf("session: %w", err)
	}
	return c, nil
}

var errMemory = errors.New("session: argument: the memory of a run is set before it begins, with cancha.memory in cancha.conf or with CANCHA_MEMORY")

// configure completes a configuration from sources, of which the first that has a setting counts. The error tells of all that are wrong.
func configure(c Config, sources ...source) (_ Config, faults error) {
	c.origins = map[string]string{}
	for _, f := range fields() {
		where, err := f.complete(&c, sources...)
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("%s: %w", where, err))
			_ = f.set(&c, f.text) // what later ones are checked against
		}
		c.origins[f.key] = where
	}
	return c, faults
}

// complete sets a field that c does not have, and checks it. It returns where its value comes from.
func (f field) complete(c *Config, sources ...source) (where string, err error) {
	where = "argument"
	if text := f.get(c); text != "" {
		err = f.set(new(Config), text) // arguments are checked as texts are
	} else {
		text, where = first(f, sources...)
		if said, by := f.impliedBy(c); said != "" && where == defaultOrigin {
			text, where = said, by
		}
		err = f.set(c, text)
	}
	if err == nil && f.check != nil {
		err = f.check(*c)
	}
	return where, err
}

// ConcurrentTasks is how many tasks may work on the GPU at once: GPUTasks, or else as many as fit with what each takes of it.
func (c Config) ConcurrentTasks() int {
	if c.GPUTasks > 0 || c.GPUAmount <= 0 {
		return max(1, c.GPUTasks)
	}
	return tasks(c.GPUAmount)
}

// Settings returns what is set, in the order of [Config]'s fields, each with where it comes from. No token is shown.
func (c Config) Settings() []Setting {
	var all []Setting
	for _, f := range fields() {
		text := f.get(&c)
		if text == "" {
			continue
		}
		if f.shown != nil {
			text = f.shown(text)
		}
		all = append(all, Setting{f.key, text, cmp.Or(c.origins[f.key], "argument")})
	}
	return all
}

// String tells the configuration in a line.
func (c Config) String() string {
	brokers, data := "embedded broker", "no data folder"
	if len(c.Brokers) > 0 {
		brokers = "brokers " + strings.Join(c.Brokers, ", ")
	}
	if c.Data != "" {
		data = "data in " + c.Data
	}
	at := ""
	if m, err := master.Parse(c.Master); err == nil && !m.Local() {
		at = ", queries on " + m.String()
	}
	return fmt.Sprintf("device %s, %d cores, %s, %s%s", cmp.Or(c.Device, "auto"), c.Cores, brokers, data, at)
}

// Master is where queries run that do not say so themselves: what the environment or the file of settings names, in the form of
// [Config].Master, secrets included. An error names the variable, or the file and the line.
func Master() (string, error) {
	file, err := openFile()
	if err != nil {
		return "", fmt.Errorf("session: %w", err)
	}
	f, c := masterField(), Config{}
	if where, err := f.complete(&c, environment, file.own, file.spark, byDefault); err != nil {
		return "", fmt.Errorf("session: %s: %w", where, err)
	}
	return c.Master, nil
}

// SparkSettings are the settings of Spark (spark.…) in the file of settings, in its order, each with where it stands; of two with one name the later.
// They are what a session on a Spark Connect server is to have. Where that server is, spark.master and spark.remote, is not among them: see [Master].
// Without such a file there are none. Values may be secret: they are not hidden, as those of [Config].Settings are.
func SparkSettings() ([]Setting, error) {
	file, err := openFile()
	if err != nil || file == nil {
		return nil, wrapped(err)
	}
	var all []Setting
	for _, s := range file.Settings {
		last, _ := file.Get(s.Key)
		if strings.HasPrefix(s.Key, "spark.") && s.Key != conf.Master && s.Key != conf.Remote && last.Line == s.Line {
			all = append(all, Setting{s.Key, s.Value, file.at(s)})
		}
	}
	return all, nil
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session: %w", err)
}

// source finds the text of a setting; "" where it has none.
type source func(field) (text, where string)

// first asks sources until one has a text. A setting that none has is empty, by default.
func first(f field, sources ...source) (text, where string) {
	for _, from := range sources {
		if text, where = from(f); text != "" {
			break
		}
	}
	return text, where
}

func environment(f field) (text, where string) { return os.Getenv(f.variable()), f.variable() }

// defaultOrigin is where a setting comes from that nobody has made.
const defaultOrigin = "default"

func byDefault(f field) (text, where string) { return f.text, defaultOrigin }
