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
	started []int64          // of those that the phase has begun, in their order
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

// remaining is how long the phase will most likely go on; ok is false where nothing is known of it. Of the packages that it has begun, as
// many as there are processors are still on their way, by half.
func (p *progress) remaining() (d time.Duration, ok bool) {
	if len(p.sizes) == 0 {
		return 0, false
	}
	processors := min(runtime.GOMAXPROCS(0), max(1, len(p.sizes)))
	done := 0.0
	for i, size := range p.started {
		if i >= len(p.started)-processors {
			done += float64(size) / 2
		} else {
			done += float64(size)
		}
	}
	total := float64(p.left)
	for _, size := range p.started {
		total += float64(size)
	}
	elapsed := time.Since(p.since).Seconds()
	guess := usualSpeed * float64(processors)
	const trust = 5 // seconds that the guess counts for
	speed := (done + guess*trust) / (elapsed + trust)
	return time.Duration((total - done) / speed * float64(time.Second)), true
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
			p.started = append(p.started, size)
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
	if left, ok := p.remaining(); ok {
		parts = append(parts, fmt.Sprintf("about %d s left", max(1, int(left.Seconds()+0.5))))
	}
	parts = append(parts, fmt.Sprintf("%d s", int(time.Since(p.begin).Seconds())))
	return p.doing + ": " + strings.Join(parts, ", ")
}
