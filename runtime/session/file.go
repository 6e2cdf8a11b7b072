package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"cancha/internal/master"
	"cancha/runtime/session/conf"
)

// file is the file of settings; nil without one.
type file struct {
	*conf.File
	cluster map[string]conf.Setting // what Spark's settings say, by our keys
}

// openFile reads the file of settings, if there is one. Who names one wants it.
func openFile() (*file, error) {
	named := os.Getenv(FileVariable)
	f, err := conf.Read(cmp.Or(named, DefaultFile))
	switch {
	case named == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case named != "" && err != nil:
		return nil, fmt.Errorf("%s names the file of settings, and may be left out: %w", FileVariable, err)
	case err != nil:
		return nil, err
	}
	return &file{f, fromSpark(f)}, nil
}

// FromFile returns the configuration that a file of settings gives, whatever the environment says.
func FromFile(f *conf.File) (Config, error) {
	taken := &file{f, fromSpark(f)}
	c, err := configure(Config{}, taken.own, taken.spark, byDefault)
	return checked(c, taken.known(), err)
}

// known refuses settings of ours that there are not: they would be wishes that nobody grants.
func (f *file) known() (err error) {
	if f == nil {
		return nil
	}
	var keys []string
	for _, field := range fields() {
		keys = append(keys, field.key)
	}
	for _, s := range f.Settings {
		if strings.HasPrefix(s.Key, "cancha.") && !slices.Contains(keys, s.Key) {
			err = errors.Join(err, fmt.Errorf("%s:%d: no setting is called %s: there are %s", f.Name, s.Line, s.Key, strings.Join(keys, ", ")))
		}
	}
	return err
}

// own finds a setting under our key.
func (f *file) own(of field) (text, where string) {
	if f == nil {
		return "", ""
	}
	s, _ := f.Get(of.key)
	return s.Value, f.at(s)
}

// spark finds a setting in what is written for Spark.
func (f *file) spark(of field) (text, where string) {
	if f == nil {
		return "", ""
	}
	s := f.cluster[of.key]
	return s.Value, f.at(s)
}

func (f *file) at(s conf.Setting) string {
	if s.Line == 0 { // it is what the file does not say
		return fmt.Sprintf("%s (%s)", f.Name, s.Key)
	}
	return fmt.Sprintf("%s:%d (%s)", f.Name, s.Line, s.Key)
}

// fromSpark translates: one run does here what a driver and its executors do there, so it has their cores and their memory.
// Values that Spark would not take are left out: "cancha doctor -conf" tells them.
func fromSpark(f *conf.File) map[string]conf.Setting {
	s, _ := f.Spark()
	all := map[string]conf.Setting{}
	put := func(key, text string, from ...string) {
		if said, ok := s.Said(from...); ok && text != "" {
			said.Value = text
			all[key] = said
		}
	}
	device := "cpu"
	if s.RAPIDS() {
		device = "gpu"
	}
	if s.Cluster() { // without the plugin it is one that computes on the CPU
		all["cancha.device"] = conf.Setting{Key: "no " + conf.Plugins, Value: device}
	}
	n := s.Count()
	switch {
	case !s.Enabled:
		put("cancha.device", device, conf.RAPIDSEnabled)
	case s.Plugin:
		put("cancha.device", device, conf.RAPIDSEnabled, conf.Plugins)
	}
	put("cancha.cores", notZero(n*s.ExecutorCores, strconv.Itoa(n*s.ExecutorCores)), conf.ExecutorCores)
	put("cancha.cores", notZero(s.CoresMax, strconv.Itoa(s.CoresMax)), conf.CoresMax)
	put("cancha.memory", conf.FormatBytes(s.Memory()), conf.ExecutorMemory, conf.DriverMemory)
	put("cancha.gpu.amount", notZero(s.TaskGPUs, strconv.FormatFloat(min(1, s.TaskGPUs), 'g', -1, 64)), conf.TaskGPUs)
	put("cancha.gpu.tasks", notZero(s.ConcurrentTasks, strconv.Itoa(min(s.ConcurrentTasks, tasks(cmp.Or(min(1, s.TaskGPUs), 1))))), conf.ConcurrentTasks)
	put("cancha.gpu.pinned", notZero(s.PinnedPool, conf.FormatBytes(s.PinnedPool)), conf.PinnedPool)
	if said, _ := f.Get("spark.ui.enabled"); said.Value == "true" || said.Value == "false" {
		all["cancha.ui"] = said
	}
	if said, _ := f.Get("spark.ui.port"); said.Value != "" && said.Value != "0" { // which is any port
		all["cancha.ui.port"] = said
	}
	put("cancha.gpu.explain", strings.ToLower(s.Explain), conf.RAPIDSExplain)
	if at, ok := masterOf(f, s); ok {
		all[masterKey] = at
	}
	return all
}

// masterOf is where Spark's own clients would have things done: spark.remote, whatever spark.master says. One of the cluster managers in
// spark.master is the business of the Spark Connect server, and nothing that a query could be sent to: where it comes from says so.
func masterOf(f *conf.File, s conf.Spark) (conf.Setting, bool) {
	if remote, ok := f.Get(conf.Remote); ok {
		return remote, true
	}
	at, said := s.Said(conf.Master)
	if master.Manager(s.Master) {
		at.Value = master.Local
		at.Key = "spark.master is what a Spark Connect server is started with; to run queries there: cancha.master sc://HOST:15002"
		return at, said
	}
	_, err := master.Parse(s.Master)
	return at, said && err == nil
}
