package broker

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

// faults passes kfake's warnings and errors on to a logger; what clients are told anyway (refused requests) is left out.
type faults struct{ log *slog.Logger }

// Logf implements kfake.Logger.
func (f faults) Logf(level kfake.LogLevel, format string, args ...any) {
	if level == kfake.LogLevelNone || level > kfake.LogLevelWarn {
		return
	}
	text := fmt.Sprintf(format, args...)
	if strings.HasPrefix(text, "persist") {
		f.log.Error("broker: cannot write its data; producers are refused until it can", "cause", text)
		return
	}
	f.log.Warn("broker: " + text)
}
