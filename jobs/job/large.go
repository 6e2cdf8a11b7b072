package job

import (
	"bytes"
	"encoding/json"
)

// MaxSubmission is how large a submission may be, in bytes: what a job may have of each, and room for its other fields.
const MaxSubmission = MaxParameters + MaxUnknown + 1<<20

// looked is how much of a body that is too large is looked at, for the job's id.
const looked = 64 << 10

// large refuses a body that is too large before it is read: that of 20 MB took the scheduler seconds, in which nothing else went on. The id
// and the way of the result are found where they stand in front.
func large(s *Spec, text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text[:looked]))
	if t, err := d.Token(); err == nil && t == json.Delim('{') {
		for d.More() {
			name, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil {
				break
			}
			b := &body{reader{fields: map[string]json.RawMessage{}}}
			if n, is := name.(string); is {
				b.fields[n] = value
			}
			b.text(&s.ID, "job_id")
			b.text(&s.ReplyTo, "reply_to")
			b.text(&s.Type, "job_type")
		}
	}
	return bad("the message", "it has %d bytes; at most %d: write large data into a file, and give its name", len(text), MaxSubmission)
}
