package workspace

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// progressName is a file in a workspace that is being built: how far it is, for those who wait.
const progressName = "progress"

// interval is how often progress is told.
const interval = 500 * time.Millisecond

// progress tells how far a build is, at most once an interval, and at least, so that a person sees it live.
type progress struct {
	file string
	say  func(string)
	done chan struct{}
	over sync.WaitGroup

	mu       sync.Mutex
	begin    time.Time
	doing    string
	note     string // what the go command last told besides packages
	packages int
	total    int
}

// newProgress starts telling; close ends that.
func newProgress(doing, file string, say func(string)) *progress {
	p := &progress{file: file, say: say, done: make(chan struct{}), begin: time.Now(), doing: doing}
	p.over.Go(p.tell)
	return p
}

func (p *progress) close() {
	close(p.done)
	p.over.Wait()
	_ = os.Remove(p.file) // the next build writes its own
}

func (p *progress) tell() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		p.say(p.text())
		_ = writeWhole(p.file, []byte(p.text())) // those who wait see less
		select {
		case <-tick.C:
		case <-p.done:
			return
		}
	}
}

// phase says what is done now.
func (p *progress) phase(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing, p.note, p.packages, p.total = doing, "", 0, 0
}

// expect says how many packages the phase has still to compile, the program's own among them.
func (p *progress) expect(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = p.packages + more
}

// line takes a line of the go command: with -v it prints each package's path when it compiles it.
func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch what, ok := strings.CutPrefix(text, "go: downloading "); {
	case ok:
		p.note = "fetching " + what
	case text != "" && !strings.ContainsAny(text, " :#"):
		p.packages++
		p.note = ""
	}
}

func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := []string{}
	if p.total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d packages", min(p.packages, p.total), p.total))
	}
	if p.note != "" {
		parts = append(parts, p.note)
	}
	parts = append(parts, fmt.Sprintf("%d s", int(time.Since(p.begin).Seconds())))
	return p.doing + ": " + strings.Join(parts, ", ")
}
