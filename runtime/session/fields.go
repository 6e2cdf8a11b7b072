package session

import (
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"cancha/internal/master"
	"cancha/internal/secret"
	"cancha/runtime/session/conf"
)

// field is one setting: its key, its text by default, where its value is kept in a Config, and what a value has to be.
type field struct {
	key, text string
	value
	check   func(Config) error       // of the fields up to this one
	implied func(Config) string      // what a field before this one says of it, where nobody else does; nil: nothing
	by      string                   // the key of that field
	shown   func(text string) string // a text without its secrets; nil: it has none
}

// impliedBy is what another setting of c says of a field, and where that comes from.
func (f field) impliedBy(c *Config) (text, where string) {
	if f.implied == nil {
		return "", ""
	}
	return f.implied(*c), c.origins[f.by]
}

// value reads and writes a field of a Config as text; "" is a value that is not set.
type value interface {
	get(*Config) string
	set(c *Config, text string) error
}

// variable is the environment variable of a setting.
func (f field) variable() string {
	if f.key == "cancha.brokers" {
		return BrokersVariable // as programs for Kafka call it
	}
	return strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
}

func fields() []field {
	cores := plain("cancha.cores", strconv.Itoa(runtime.GOMAXPROCS(0)), whole(func(c *Config) *int { return &c.Cores }), nil)
	cores.implied, cores.by = coresOfMaster, masterKey
	token := plain("cancha.ui.token", "", text(func(c *Config) *string { return &c.UIToken }), checkToken)
	token.shown = func(string) string { return "(hidden)" }
	return []field{
		plain("cancha.device", "auto", text(func(c *Config) *string { return &c.Device }), oneOf(func(c Config) string { return c.Device }, "auto", "gpu", "cpu")),
		masterField(),
		cores,
		plain("cancha.memory", "", size(func(c *Config) *int64 { return &c.Memory }), checkMemory),
		plain("cancha.brokers", "", list(func(c *Config) *[]string { return &c.Brokers }), checkBrokers),
		plain("cancha.data", "", text(func(c *Config) *string { return &c.Data }), checkData),
		plain("cancha.spark.folder", "", text(func(c *Config) *string { return &c.SparkFolder }), nil),
		plain("cancha.gpu", "", text(func(c *Config) *string { return &c.GPU }), nil),
		plain("cancha.gpu.amount", "1", amount(func(c *Config) *float64 { return &c.GPUAmount }), checkAmount),
		plain("cancha.gpu.tasks", "", whole(func(c *Config) *int { return &c.GPUTasks }), checkTasks),
		plain("cancha.gpu.memory", "", size(func(c *Config) *int64 { return &c.GPUMemory }), nil),
		plain("cancha.gpu.pinned", "", size(func(c *Config) *int64 { return &c.GPUPinned }), nil),
		plain("cancha.gpu.required", "", yes(func(c *Config) *bool { return &c.GPURequired }), checkRequired),
		plain("cancha.gpu.tf32", "", yes(func(c *Config) *bool { return &c.TF32 }), nil),
		plain("cancha.gpu.explain", "all", text(func(c *Config) *string { return &c.Explain }), oneOf(func(c Config) string { return c.Explain }, "none", "not_on_gpu", "all")),
		plain("cancha.ui", "true", text(func(c *Config) *string { return &c.UI }), oneOf(func(c Config) string { return c.UI }, "true", "false")),
		plain("cancha.ui.host", "127.0.0.1", text(func(c *Config) *string { return &c.UIHost }), checkHost),
		plain("cancha.ui.port", "4040", whole(func(c *Config) *int { return &c.UIPort }), checkPort),
		token,
	}
}

// plain is a field that nothing else says anything of, and without secrets.
func plain(key, text string, value value, check func(Config) error) field {
	return field{key: key, text: text, value: value, check: check}
}

const masterKey = "cancha.master"

func masterField() field {
	f := plain(masterKey, master.Local, text(func(c *Config) *string { return &c.Master }), checkMaster)
	f.shown = master.Hide
	return f
}

func checkMaster(c Config) error {
	_, err := master.Parse(c.Master)
	return err
}

// coresOfMaster is n of local[n].
func coresOfMaster(c Config) string {
	m, err := master.Parse(c.Master)
	if err != nil {
		return "" // checkMaster has said so
	}
	return notZero(m.Cores(), strconv.Itoa(m.Cores()))
}

func oneOf(get func(Config) string, words ...string) func(Config) error {
	return func(c Config) error {
		if !slices.Contains(words, get(c)) {
			return fmt.Errorf("%q: choose one of %s", get(c), strings.Join(words, ", "))
		}
		return nil
	}
}

func checkBrokers(c Config) error {
	for _, broker := range c.Brokers {
		if !strings.Contains(broker, ":") {
			return fmt.Errorf("%q has no port: write host:9092", broker)
		}
	}
	return nil
}

func checkData(c Config) error {
	if c.Data == "" {
		return nil
	}
	info, err := os.Stat(c.Data)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", c.Data)
	}
	return err
}

func checkAmount(c Config) error {
	if !(c.GPUAmount > 0 && c.GPUAmount <= 1) {
		return fmt.Errorf("%v: a task takes more than 0 and at most 1 of the GPU: a run has one", c.GPUAmount)
	}
	return nil
}

func checkTasks(c Config) error {
	if most := tasks(c.GPUAmount); c.GPUTasks > most {
		return fmt.Errorf("%d tasks at once, each with %v of the GPU, are more than one GPU: at most %d", c.GPUTasks, c.GPUAmount, most)
	}
	return nil
}

// tasks is how many tasks that take so much of a GPU fit on one.
func tasks(amount float64) int {
	const rounding = 1e-9 // ten times 0.1
	return int(1/amount + rounding)
}

func checkHost(c Config) error {
	if strings.ContainsAny(c.UIHost, "/ ") || strings.Contains(c.UIHost, ":") && net.ParseIP(c.UIHost) == nil {
		return fmt.Errorf("%q: write a host or an address without a port, such as 127.0.0.1 or 0.0.0.0", c.UIHost)
	}
	return nil
}

func checkPort(c Config) error {
	if c.UIPort > 65535 {
		return fmt.Errorf("%d: a port is at most 65535", c.UIPort)
	}
	return nil
}

func checkToken(c Config) error {
	if c.UIToken == "" {
		return nil // one is made
	}
	return secret.Check(c.UIToken)
}

func checkRequired(c Config) error {
	if c.GPURequired && c.Device == "cpu" {
		return fmt.Errorf("a GPU is required, and the device is cpu: leave one of them out")
	}
	return nil
}

// The kinds of values, by where they are kept.
type (
	text   func(*Config) *string
	whole  func(*Config) *int
	size   func(*Config) *int64
	amount func(*Config) *float64
	yes    func(*Config) *bool
	list   func(*Config) *[]string
)

func (at text) get(c *Config) string          { return *at(c) }
func (at text) set(c *Config, s string) error { *at(c) = s; return nil }

func (at whole) get(c *Config) string { return notZero(*at(c), strconv.Itoa(*at(c))) }

func (at whole) set(c *Config, s string) error {
	if s == "" {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("%q: write a whole number of at least 1", s)
	}
	*at(c) = n
	return nil
}

func (at size) get(c *Config) string { return notZero(*at(c), conf.FormatBytes(*at(c))) }

func (at size) set(c *Config, s string) (err error) {
	if s != "" {
		*at(c), err = parseSize(s)
	}
	return err
}

func (at amount) get(c *Config) string {
	return notZero(*at(c), strconv.FormatFloat(*at(c), 'g', -1, 64))
}

func (at amount) set(c *Config, s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) {
		return fmt.Errorf("%q is no number", s)
	}
	*at(c) = x
	return nil
}

func (at yes) get(c *Config) string { return notZero(*at(c), "true") }

func (at yes) set(c *Config, s string) (err error) {
	if s != "" {
		*at(c), err = conf.Bool(s)
	}
	return err
}

func (at list) get(c *Config) string { return strings.Join(*at(c), ",") }

func (at list) set(c *Config, s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*at(c) = append(*at(c), part)
		}
	}
	return nil
}

// notZero returns the text of a value, "" where that is the zero value.
func notZero[T comparable](v T, text string) string {
	var zero T
	if v == zero {
		return ""
	}
	return text
}
