package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

// The job types that every worker runs. Others are functions, notebooks and queries of users.
const (
	MatrixMultiply  = "matrix_multiply"
	NeuralNetwork   = "neural_network"
	VectorAddition  = "vector_addition"
	ImageProcessing = "image_processing"
)

// What a job may be at most.
const (
	MaxPriority   = queue.MaxPriority
	MaxAttempts   = 100
	MaxAfter      = 1000    // jobs that one job waits for
	MaxParameters = 1 << 20 // bytes; larger data belong in a file, whose name is a parameter
	MaxText       = queue.MaxText
	MaxUnknown    = 64 << 10                  // bytes of all fields that are not of the contract
	MaxTime       = 10 * 365 * 24 * time.Hour // of Timeout and ResultTTL
)

// What a job is where its Spec says nothing.
const (
	UsualAttempts  = 3
	UsualResultTTL = 24 * time.Hour
)

// Spec is what is asked for. Only Type is needed.
type Spec struct {
	// ID names the job; "": the one who submits it makes one.
	ID   string
	Type string
	// Parameters are a JSON object; nil: none.
	Parameters json.RawMessage `json:",omitempty"`
	// Device is an order; "": any.
	Device placement.Device
	// PreferGPU is a wish, which decides between devices that are as good.
	PreferGPU bool
	// Priority is from 0 to MaxPriority, the highest first.
	Priority int
	// Key tells that the same was submitted before, under whatever ID; "": nothing does but the ID. Keys are no ids: a key that is called
	// as another job's ID has nothing to do with that.
	Key string
	// NotBefore and Deadline bound when it runs; zero: at once, and whenever.
	NotBefore, Deadline time.Time
	// Timeout is how long one attempt may take; 0: as long as it takes.
	Timeout time.Duration
	// Attempts is how often it is begun at most, where it fails by a fault that may pass, or its worker dies; 0: UsualAttempts.
	Attempts int
	// After are ids of jobs that must have completed. If one ends otherwise, this one fails.
	After []string
	// ResultTTL is for how long the ended job is kept; 0: UsualResultTTL.
	ResultTTL time.Duration
	// ReplyTo is the queue that the result goes to; "": result_queue.
	ReplyTo string
	// Correlation is what the result's message repeats as its correlation id, by which a program that has asked knows it; "": ID.
	Correlation string `json:",omitempty"`
	// Unknown are the fields of the submission that are not of the contract.
	Unknown map[string]json.RawMessage
}

// Check tells what no job may be, naming the field of the contract.
func (s *Spec) Check() error {
	if err := s.checkTexts(); err != nil {
		return err
	}
	switch {
	case s.Type == "":
		return bad("job_type", "missing; it is one of %s, or a type that a worker has registered", strings.Join(Types(), ", "))
	case s.Device != "" && s.Device != placement.CPU && s.Device != placement.GPU:
		return bad("device", "%q; it is \"cpu\", \"gpu\" or \"auto\"", s.Device)
	case s.Priority < 0 || s.Priority > MaxPriority:
		return bad("priority", "%d; it is 0 to %d, 9 first", s.Priority, MaxPriority)
	case s.Attempts < 0 || s.Attempts > MaxAttempts:
		return bad("max_attempts", "%d; it is 1 to %d", s.Attempts, MaxAttempts)
	case s.Timeout < 0 || s.Timeout > MaxTime:
		return bad("timeout", "%v; it is a time of ten years at most", s.Timeout)
	case s.ResultTTL < 0 || s.ResultTTL > MaxTime:
		return bad("result_ttl", "%v; it is a time of ten years at most", s.ResultTTL)
	case !written(s.NotBefore):
		return bad("not_before", "a time of the year %d; it is of the years 1 to 9999, in UTC", s.NotBefore.UTC().Year())
	case !written(s.Deadline):
		return bad("deadline", "a time of the year %d; it is of the years 1 to 9999, in UTC", s.Deadline.UTC().Year())
	case !s.NotBefore.IsZero() && !s.Deadline.IsZero() && !s.NotBefore.Before(s.Deadline):
		return bad("deadline", "%s is not after not_before, %s", s.Deadline.Format(time.RFC3339), s.NotBefore.Format(time.RFC3339))
	}
	return s.checkSizes()
}

// written tells whether a time can be written as JSON: a job with another one could never be put down.
func written(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 }

func (s *Spec) checkTexts() error {
	for _, text := range []struct{ field, is string }{{"job_id", s.ID}, {"job_type", s.Type}, {"key", s.Key}, {"correlation_id", s.Correlation}} {
		if err := checkText(text.field, text.is); err != nil {
			return err
		}
	}
	if s.ReplyTo != "" && queue.CheckTarget(s.ReplyTo) != nil {
		return bad("reply_to", "%.100q is no name of a queue", s.ReplyTo)
	}
	if reserved(s.ReplyTo) {
		return bad("reply_to", "%.100q is a queue of which the jobs themselves are made; name one of your own", s.ReplyTo)
	}
	if len(s.After) > MaxAfter {
		return bad("after", "%d jobs; at most %d", len(s.After), MaxAfter)
	}
	for _, id := range s.After {
		switch {
		case id == "":
			return bad("after", "an empty job_id")
		case id == s.ID:
			return bad("after", "%q waits for itself", id)
		}
		if err := checkText("after", id); err != nil {
			return err
		}
	}
	return nil
}

// reserved tells whether a queue is one from which scheduler or workers take: a result sent there would be taken for a job, answered with
// its result, and so on.
func reserved(name string) bool {
	switch name {
	case QueueJobs, QueueCPU, QueueGPU, QueueReports, QueueLost, QueueControl, queue.DeadLetters:
		return true
	}
	return strings.HasPrefix(name, QueueCPU+".") || strings.HasPrefix(name, QueueGPU+".")
}

func (s *Spec) checkSizes() error {
	if len(s.Parameters) > MaxParameters {
		return bad("parameters", "%d bytes; at most %d: write large data into a file, and give its name", len(s.Parameters), MaxParameters)
	}
	size := 0
	for name, value := range s.Unknown {
		size += len(name) + len(value)
	}
	if size > MaxUnknown {
		return bad("the fields that are not of the contract", "%d bytes; at most %d: write large data into a file, and give its name", size, MaxUnknown)
	}
	_, err := s.Work()
	return err
}

// Work is what the job asks of a worker: of the four types what they compute, of others as much as the parameters are long.
func (s *Spec) Work() (placement.Work, error) {
	o, err := ReadOperation(s.Type, s.Parameters)
	switch {
	case err != nil:
		return placement.Work{}, err
	case o == nil:
		return placement.Work{Type: Family(s.Type), Size: float64(len(s.Parameters))}, nil
	}
	w := o.Work()
	if w.Memory > mostMemory {
		return w, bad("parameters", "they ask for %s of memory; at most %s", placement.Bytes(w.Memory), placement.Bytes(mostMemory))
	}
	return w, nil
}

// byChance is what a type's name ends with that is of one process alone: a text of crypto/rand behind a dot, as jobs.Map has it.
var byChance = regexp.MustCompile(`\.[A-Z2-7]{26,}$`)

// Family is a type without what is of one process alone: under that it is counted, and what was measured of one serves the next.
func Family(name string) string {
	if at := byChance.FindStringIndex(name); at != nil && at[0] > 0 {
		return name[:at[0]]
	}
	return name
}

// mostMemory is above what any worker has.
const mostMemory = 4e12

// Other tells, in words, that another spec of the same id asks for something else; "": it is the same job, submitted again.
func (s *Spec) Other(again *Spec) string {
	if what := s.differs(again); what != "" {
		return fmt.Sprintf("job_id: %q is of another job, which %s: take a new id for each", s.ID, what)
	}
	return ""
}

// OtherOfKey is Other for a spec of the same key, whose id is another one.
func (s *Spec) OtherOfKey(again *Spec) string {
	if what := s.differs(again); what != "" {
		return fmt.Sprintf("key: %q is of job %q, which %s: take a new key for each", again.Key, s.ID, what)
	}
	return ""
}

// differs tells what this spec is, in words, and another one is not; "": both ask for the same.
func (s *Spec) differs(other *Spec) string {
	switch {
	case s.Type != other.Type:
		return "is a " + s.Type
	case !s.computesAs(other):
		return "has other parameters"
	}
	return ""
}

// computesAs tells whether two specs of one type have the same parameters: of the four types those that count, for a time of day may stand
// beside them.
func (s *Spec) computesAs(other *Spec) bool {
	if compact(s.Parameters) == compact(other.Parameters) || canonical(s.Parameters) == canonical(other.Parameters) {
		return true
	}
	one, err := ReadOperation(s.Type, s.Parameters)
	two, err2 := ReadOperation(other.Type, other.Parameters)
	return err == nil && err2 == nil && one != nil && one == two
}

// Content is the same of two specs with one id where Other says that they are the same job.
func (s *Spec) Content() [sha256.Size]byte {
	what := canonical(s.Parameters)
	if o, err := ReadOperation(s.Type, s.Parameters); err == nil && o != nil {
		what = fmt.Sprintf("%+v", o)
	}
	return sha256.Sum256([]byte(s.Type + "\x00" + what))
}

// compact is JSON as the store keeps it.
func compact(text json.RawMessage) string {
	if len(text) == 0 {
		return ""
	}
	out, err := json.Marshal(text)
	if err != nil {
		return string(text)
	}
	return string(out)
}

// canonical is JSON in one of the ways in which it can be written: fields in their order by name, without spaces, each letter as itself.
// Numbers stay as they are written, for 1.0 is no whole number to many readers. So does all where an object has two fields of one name, of
// which readers take one or the other.
func canonical(text json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := readValue(d)
	if err != nil || d.More() {
		return compact(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return compact(text)
	}
	return string(out)
}

// readValue reads a value of JSON; the error may be errTwice.
func readValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	switch {
	case err != nil:
		return nil, err
	case t == json.Delim('{'):
		return readObject(d)
	case t == json.Delim('['):
		return readArray(d)
	}
	return t, nil
}

var errTwice = errors.New("an object has two fields of one name")

func readObject(d *json.Decoder) (any, error) {
	fields := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if _, twice := fields[name]; twice {
			return nil, errTwice
		}
		if fields[name], err = readValue(d); err != nil {
			return nil, err
		}
	}
	_, err := d.Token() // its end
	return fields, err
}

func readArray(d *json.Decoder) (any, error) {
	values := []any{}
	for d.More() {
		v, err := readValue(d)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	_, err := d.Token() // its end
	return values, err
}

// CorrelationID is Correlation, or else ID.
func (s *Spec) CorrelationID() string {
	if s.Correlation != "" {
		return s.Correlation
	}
	return s.ID
}

// MaxAttempts is Attempts, or else UsualAttempts.
func (s *Spec) MaxAttempts() int {
	if s.Attempts > 0 {
		return s.Attempts
	}
	return UsualAttempts
}

// Keep is ResultTTL, or else UsualResultTTL.
func (s *Spec) Keep() time.Duration {
	if s.ResultTTL > 0 {
		return s.ResultTTL
	}
	return UsualResultTTL
}

// Invalid is what is wrong with a submission, and with which field of it. Nobody tries such a job again.
type Invalid struct{ Field, Why string }

func (e *Invalid) Error() string { return e.Field + ": " + e.Why }

func bad(field, format string, args ...any) error {
	return &Invalid{field, fmt.Sprintf(format, args...)}
}

func checkText(field, is string) error {
	switch {
	case len(is) > MaxText:
		return bad(field, "%d bytes; at most %d", len(is), MaxText)
	case !utf8.ValidString(is):
		return bad(field, "%.100q is no UTF-8", is)
	case strings.ContainsFunc(is, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad(field, "%.100q has control characters", is)
	}
	return nil
}
