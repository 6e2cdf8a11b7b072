package postgres

import (
	"strings"
	"testing"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

// TestEarlierLedger: a table of epochs that an earlier version made gets its new column, and its epochs are known by their numbers.
func TestEarlierLedger(t *testing.T) {
	for name, c := range map[string]struct {
		epoch    string
		key      []string
		snapshot int64
		written  int64
		refused  string
	}{
		"the snapshot's":               {"6", nil, 6, 6, ""},
		"the one before":               {"5", nil, 6, 5, ""},
		"a later one":                  {"9", nil, 6, 0, "UPDATE \"cancha_epochs\" SET epoch = 5"},
		"a later one, of rows by keys": {"9", []string{"shop"}, 6, 6, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := server(t)
			d.exec(`CREATE TABLE cancha_epochs (query text, unit text, target text, epoch bigint NOT NULL, PRIMARY KEY (query, unit, target));
				INSERT INTO cancha_epochs VALUES ('q', 'query', 'sold', ` + c.epoch + `)`)
			s := newSink(Config{URL: d.url, Table: "sold", Create: true, Key: c.key})
			mark := stream.Mark{Query: "q", Unit: checkpoint.Whole, Run: "run", Epoch: 5, Snapshot: stream.EpochID{Number: c.snapshot}}
			written, err := s.Resume(t.Context(), shops().Columns, mark)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %d, %v, want it refused: %s", written, err, c.refused)
				}
				return
			}
			if err != nil || written != c.written {
				t.Fatalf("got %d, %v, want %d", written, err, c.written)
			}
			rows := shops("a", 1)
			rows.Unit, rows.Run = checkpoint.Whole, "run"
			if err := s.Write(t.Context(), 7, rows); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d.want("SELECT epoch FROM cancha_epochs", "7")
			d.want("SELECT * FROM sold", "a|1")
		})
	}
}
