package placement

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// document is a history as JSON.
type document struct {
	Schema       int           `json:"schema"`
	Measurements []Measurement `json:"measurements"` // the one measured last at the end
}

// schema is the version of the document that is written, and the newest that can be read.
const schema = 1

// Measurements lists all that is known, what was measured last at the end.
func (h *History) Measurements() []Measurement {
	all := make([]Measurement, 0, h.size)
	for _, k := range h.keys() {
		e := h.types[k.Type][k.place()][k.Bucket]
		all = append(all, Measurement{k, e.Average, e.cold})
	}
	return all
}

// Restore puts back what a store has kept, as the newest measurement of its key. An error names what no run has left, and changes nothing.
func (h *History) Restore(m Measurement) error {
	if err := m.Validate(); err != nil {
		return err
	}
	e := h.entry(m.Key)
	e.Average, e.cold = m.Average, m.Cold
	return nil
}

// MarshalJSON writes all measurements.
func (h *History) MarshalJSON() ([]byte, error) {
	return json.Marshal(document{schema, h.Measurements()})
}

// UnmarshalJSON replaces the history by one that MarshalJSON has written. After an error it is as it was. Fields that it does not know are
// ignored; another schema, a key that is there twice, and more than 10,000 keys are errors, as is any number that no runs have left.
func (h *History) UnmarshalJSON(b []byte) error {
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("placement: read measurements: %w", err)
	}
	if d.Schema != schema {
		return fmt.Errorf("placement: read measurements: their schema is %d, and this version knows %d; without them costs decide until there are new ones",
			d.Schema, schema)
	}
	if len(d.Measurements) > mostKeys {
		return fmt.Errorf("placement: read measurements: %d of them; at most %d", len(d.Measurements), mostKeys)
	}
	var read History
	for i, m := range d.Measurements {
		if read.types[m.Type][m.place()][m.Bucket] != nil {
			return fmt.Errorf("placement: read measurements: number %d has the key of one before it", i+1)
		}
		if err := read.Restore(m); err != nil {
			return fmt.Errorf("placement: read measurements: number %d: %w", i+1, err)
		}
	}
	*h = read
	return nil
}

const (
	mostName = 256 // bytes of a type or a model
	// mostLog bounds ln(seconds/cost): times are from 10^-9 to 10^9 s, and costs too.
	mostLog = 42
)

// Validate reports a key or a number that no runs have left.
func (m Measurement) Validate() error {
	switch {
	case m.Count < 1 || m.Cold && m.Count != 1:
		return fmt.Errorf("placement: a measurement of %d runs; it has one or more, and a cold one has one", m.Count)
	case !(math.Abs(m.Mean) <= mostLog):
		return fmt.Errorf("placement: a mean of %v; it is a logarithm from -%d to %d", m.Mean, mostLog, mostLog)
	case !(m.Variance >= 0 && m.Variance <= mostLog*mostLog):
		return fmt.Errorf("placement: a variance of %v; it is from 0 to %d", m.Variance, mostLog*mostLog)
	}
	return m.validate()
}

func (k Key) validate() error {
	switch {
	case k.Type == "" || len(k.Type) > mostName || !utf8.ValidString(k.Type): // JSON would make one of two broken texts
		return fmt.Errorf("placement: job type %.100q: it is a text of 1 to %d bytes", k.Type, mostName)
	case len(k.Model) > mostName || !utf8.ValidString(k.Model):
		return fmt.Errorf("placement: a device named %.100q: it is a text of at most %d bytes", k.Model, mostName)
	case k.Device != CPU && k.Device != GPU:
		return fmt.Errorf("placement: device %.100q; it is %q or %q", k.Device, CPU, GPU)
	case k.Bucket < 0 || k.Bucket > mostBucket:
		return fmt.Errorf("placement: bucket %d; it is from 0 to %d", k.Bucket, mostBucket)
	}
	return nil
}
