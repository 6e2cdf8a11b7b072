package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// progressName is a file in a workspace that is being built: how far it is, for those who wait.
const progressName = "progress"

// interval is how often progress is told.
const interval = 500 * time.Millisecond

// progress tells how far a build is, at most once an interval, and at least, so that a user sees it live.
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

	sizes   map[string]int64 // of the packages that are still to be compiled, in bytes of source
	started []begun          // of those, what the phase has begun, in their order
	left    int64            // bytes that it has not begun
	since   time.Time        // it began to compile
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
	p.sizes, p.started, p.left = nil, nil, 0
}

// expect says which packages the phase is still to look at, the program's own among them; those that are stale are to be compiled.
func (p *progress) expect(all []listed) {
	sizes, left := map[string]int64{}, int64(0)
	for _, k := range all {
		if !k.Stale {
			continue
		}
		size := int64(0)
		for _, name := range k.files() {
			if info, err := os.Stat(filepath.Join(k.Dir, name)); err == nil {
				size += info.Size()
			}
		}
		sizes[k.ImportPath] = size
		left += size
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.sizes, p.left, p.since = p.packages+len(sizes), sizes, left, time.Now()
}

// usualSpeed is how many bytes of source a second a processor compiles until the phase shows its own: 0.4 to 0.7 MB (measured).
const usualSpeed = 500e3

// begun is a package that the phase has begun to compile.
type begun struct {
	size int64
	at   time.Time
}

// lateness is how many seconds a package may take beyond what was expected of its size: each takes a moment, however small it is.
const lateness = 2

// processors are those that compile.
func (p *progress) processors() int { return min(runtime.GOMAXPROCS(0), max(1, len(p.sizes))) }

// speed is how many bytes a second a processor compiles, by what had been done when it last began a package. Of those that it had begun,
// as many as there are processors were still on their way, by half. It does not change until the next begins: an estimate that followed the
// clock would never get less.
func (p *progress) speed() float64 {
	const trust = 5 // seconds that the guess counts for
	processors := p.processors()
	last := p.since
	done := 0.0
	for i, b := range p.started {
		switch {
		case i == len(p.started)-1:
			last = b.at
		case i >= len(p.started)-processors:
			done += float64(b.size) / 2
		default:
			done += float64(b.size)
		}
	}
	guess := usualSpeed * float64(processors)
	return (done + guess*trust) / (last.Sub(p.since).Seconds() + trust) / float64(processors)
}

// remaining is how long the phase will most likely go on; ok is false where nothing is known of it. Late tells that what is on its way
// takes longer than was to be expected, and so does the rest, by nobody knows how much.
func (p *progress) remaining() (d time.Duration, late, ok bool) {
	if len(p.sizes) == 0 {
		return 0, false, false
	}
	speed, processors := p.speed(), p.processors()
	left, longest := float64(p.left), 0.0
	late = len(p.started) > 0
	for _, b := range p.started[max(0, len(p.started)-processors):] {
		rest := float64(b.size) - speed*time.Since(b.at).Seconds()
		left += max(0, rest)
		longest = max(longest, rest)
		late = late && rest < -speed*lateness
	}
	if late {
		return 0, true, true
	}
	seconds := max(longest/speed, left/speed/float64(processors))
	return time.Duration(seconds * float64(time.Second)), false, true
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
		if size, ok := p.sizes[text]; ok && len(p.started) < len(p.sizes) {
			p.started = append(p.started, begun{size, time.Now()})
			p.left -= size
		}
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
	switch left, late, ok := p.remaining(); {
	case late:
		parts = append(parts, "longer than expected")
	case ok:
		parts = append(parts, fmt.Sprintf("about %d s left", max(1, int(left.Seconds()+0.5))))
	}
	parts = append(parts, fmt.Sprintf("%d s", int(time.Since(p.begin).Seconds())))
	return p.doing + ": " + strings.Join(parts, ", ")
}
