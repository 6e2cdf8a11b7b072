package shop

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/stream"
)

// of returns all records of a shop.
func of(t *testing.T, cfg Config) []stream.Record {
	t.Helper()
	all, err := Records(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var list []stream.Record
	for r := range all {
		list = append(list, r)
	}
	return list
}

func TestSameSeedSameBytes(t *testing.T) {
	a, b, other := of(t, Config{Seed: 7, Records: 3000}), of(t, Config{Seed: 7, Records: 3000}), of(t, Config{Seed: 8, Records: 3000})
	if len(a) != len(b) {
		t.Fatalf("got %d records, and then %d", len(a), len(b))
	}
	same := 0
	for i := range a {
		if a[i].Topic != b[i].Topic || !a[i].Time.Equal(b[i].Time) || !bytes.Equal(a[i].Key, b[i].Key) || !bytes.Equal(a[i].Value, b[i].Value) {
			t.Fatalf("record %d: got %s and then %s", i, a[i].Value, b[i].Value)
		}
		if i < len(other) && bytes.Equal(a[i].Value, other[i].Value) {
			same++
		}
	}
	if same > len(articles) {
		t.Errorf("%d records of another seed are the same", same)
	}
}

func TestRecordsAreRangedOverAgainAndInPart(t *testing.T) {
	all, err := Records(Config{Seed: 1}) // without end
	if err != nil {
		t.Fatal(err)
	}
	var firsts [2][]byte
	for i := range firsts {
		n := 0
		for r := range all {
			if n++; n == 100 {
				firsts[i] = r.Value
				break
			}
		}
	}
	if len(firsts[0]) == 0 || !bytes.Equal(firsts[0], firsts[1]) {
		t.Errorf("the 100th record is %s, and then %s", firsts[0], firsts[1])
	}
}

// seen is what there was in the records of a shop.
type seen struct {
	orders, payments, products    int
	repeated, late, unpaid        int
	slow, twice, unknown, damaged int
	last                          time.Time
}

func look(t *testing.T, records []stream.Record) seen {
	t.Helper()
	var s seen
	orders, paid := map[string]Order{}, map[string]map[string]time.Time{}
	latest := time.Time{}
	for _, r := range records {
		if r.Time.Before(s.last) {
			t.Fatalf("a record arrives at %v after one at %v", r.Time, s.last)
		}
		s.last = r.Time
		switch r.Topic {
		case Orders:
			s.orders++
			var o Order
			if json.Unmarshal(r.Value, &o) != nil {
				s.damaged++
				continue
			}
			if o.Order != string(r.Key) || len(o.Items) == 0 {
				t.Errorf("key %s: %s", r.Key, r.Value)
			}
			if _, known := orders[o.Order]; known {
				s.repeated++
			}
			if latest.Sub(o.Created) > time.Minute {
				s.late++
			}
			orders[o.Order], latest = o, maxTime(latest, o.Created)
		case Payments:
			s.payments++
			var p Payment
			if json.Unmarshal(r.Value, &p) != nil {
				s.damaged++
				continue
			}
			if paid[p.Order] == nil {
				paid[p.Order] = map[string]time.Time{}
			}
			paid[p.Order][p.Payment] = p.Paid
		case Products:
			s.products++
		default:
			t.Fatalf("a record of topic %q", r.Topic)
		}
	}
	for id, o := range orders {
		if len(paid[id]) == 0 {
			s.unpaid++
		}
		if len(paid[id]) > 1 {
			s.twice++
		}
		for _, at := range paid[id] {
			if at.Sub(o.Created) > 5*time.Minute {
				s.slow++
			}
		}
	}
	for id := range paid {
		if strings.HasPrefix(id, "x-") {
			s.unknown++
		}
	}
	return s
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// The parts have wide bounds: they are draws.
func TestWhatIsWrong(t *testing.T) {
	records := of(t, Config{Seed: 7, Records: 20_000})
	s := look(t, records)
	if n := len(records); n < 20_000 || n > 20_400 {
		t.Errorf("got %d records, want 20,000 and what still comes of the last orders", n)
	}
	for _, row := range []struct {
		name      string
		got, of   int
		low, high float64 // in parts of a thousand
	}{
		{"orders", s.orders, len(records), 450, 550}, {"payments", s.payments, len(records), 450, 550}, {"products", s.products, len(records), 1, 20},
		{"repeated", s.repeated, s.orders, 8, 25}, {"late", s.late, s.orders, 3, 30}, {"unpaid", s.unpaid, s.orders, 25, 70},
		{"slow", s.slow, s.orders, 20, 60}, {"twice", s.twice, s.orders, 2, 15}, {"unknown", s.unknown, s.orders, 1, 12},
		{"damaged", s.damaged, len(records), 4, 15},
	} {
		if part := 1000 * float64(row.got) / float64(row.of); part < row.low || part > row.high {
			t.Errorf("%s: got %d of %d, want %g to %g in a thousand", row.name, row.got, row.of, row.low, row.high)
		}
	}
	if span := s.last.Sub(day); span < 3*time.Hour || span > 6*time.Hour {
		t.Errorf("20,000 records span %v, want about four hours", span)
	}
}

func TestEveryOrderIsThere(t *testing.T) {
	s := look(t, of(t, Config{Seed: 3, Records: 100}))
	if s.orders == 0 || s.payments == 0 || s.products < len(articles) {
		t.Errorf("got %+v of 100 records", s)
	}
	if n := len(of(t, Config{Records: 1})); n < len(articles) {
		t.Errorf("got %d records, want all %d products at least", n, len(articles))
	}
}
