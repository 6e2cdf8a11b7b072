package engine

import (
	"os"

	"cancha/internal/cellio"
)

// openJournal returns the file in which the engine keeps the output that it holds back, mapped here too. Without one an engine that is
// killed takes its last lines with it, which is no reason not to have an engine: then the file is one that cannot be mapped.
func (p *process) openJournal() (*os.File, error) {
	f, err := journalFile()
	if err == nil {
		if p.rest, err = cellio.OpenJournal(f); err == nil {
			return f, nil
		}
		f.Close()
	}
	p.logger.Debug("no journal of the engine's output", "error", err)
	return os.Open(os.DevNull)
}

// takeRest takes in, when the engine has ended, the output that it had not sent.
func (p *process) takeRest() {
	rest := cellio.NewOutlet(func(f cellio.Frame) error { p.frame(f); return nil })
	p.rest.Rest(func(cell int64, name string, text []byte) { _ = rest.Write(cell, name, text) }) // nobody waits any more
	rest.Close()
	p.rest.Close()
}
