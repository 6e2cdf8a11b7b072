// Package session is what a notebook knows of its run: the context that an interrupt ends, the machine and broker that the
// environment gives it, the person whom it can ask, and where it puts what it measured. It ends there: it starts nothing and keeps
// nothing.
package session

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"cancha/internal/cellio"
)

// Context ends, with a cause that says so, when the running cell is interrupted. Outside a cell it never ends.
func Context() context.Context {
	if r := cellio.CurrentRun(); r != nil {
		return r.Context()
	}
	return context.Background()
}

// NotifyInterrupt returns a context that the next interrupt of the cell ends. The interrupt then counts as handled: the cell
// goes on after it, with its final table say, and does not fail. It also ends with parent. Call stop when interrupts should
// end the cell again.
//
//	ctx, stop := session.NotifyInterrupt(context.Background())
//	defer stop()
func NotifyInterrupt(parent context.Context) (ctx context.Context, stop func()) {
	return cellio.NotifyInterrupt(parent)
}

// The environment variables that Environment reads.
const (
	BrokersVariable = "KAFKA_BROKERS" // host:port, separated by commas; unset is the embedded broker
	DataVariable    = "CANCHA_DATA"   // folder of match data in the open-data layout; unset is the simulator
)

// Config is what a run may use.
type Config struct {
	Cores   int      // processors that goroutines run on at once: GOMAXPROCS
	Brokers []string // Kafka brokers; empty is the embedded one
	Data    string   // folder of match data; "" is none
}

// Environment reads the configuration from the environment. A broker without a port or a data folder that is not there is
// an error that names the variable.
func Environment() (Config, error) {
	c := Config{Cores: runtime.GOMAXPROCS(0), Data: os.Getenv(DataVariable)}
	for broker := range strings.SplitSeq(os.Getenv(BrokersVariable), ",") {
		broker = strings.TrimSpace(broker)
		if broker == "" {
			continue
		}
		if !strings.Contains(broker, ":") {
			return Config{}, fmt.Errorf("session: %s: %q has no port: write host:9092", BrokersVariable, broker)
		}
		c.Brokers = append(c.Brokers, broker)
	}
	if c.Data == "" {
		return c, nil
	}
	if info, err := os.Stat(c.Data); err != nil {
		return Config{}, fmt.Errorf("session: %s: %w", DataVariable, err)
	} else if !info.IsDir() {
		return Config{}, fmt.Errorf("session: %s: %s is no folder", DataVariable, c.Data)
	}
	return c, nil
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
	return fmt.Sprintf("%d cores, %s, %s", c.Cores, brokers, data)
}
