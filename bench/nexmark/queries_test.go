package main

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"cancha/stream"
)

// hand is a few minutes of an auction house. Auctions 1107 and 1230 are multiples of 123.
//
//	auction  seller  category  open
//	1000     1       10        00:01 to 00:05
//	1107     2       10        00:02 to 00:20
//	1230     1       11        00:12 to 00:30
//	1300     9       10        00:13 to 00:14   its seller comes later
//	1301     3       11        01:00 to 01:10   nobody bids
var hand = []string{
	`{"kind":0,"id":1,"name":"Ada","city":"Bend","state":"OR","ts":"2026-03-01T15:00:00.000Z"}`,
	`{"kind":1,"id":1000,"seller":1,"category":10,"ts":"2026-03-01T15:00:01.000Z","expires":"2026-03-01T15:00:05.000Z"}`,
	`{"kind":0,"id":2,"name":"Bob","city":"Kent","state":"WA","ts":"2026-03-01T15:00:01.500Z"}`,
	`{"kind":1,"id":1107,"seller":2,"category":10,"ts":"2026-03-01T15:00:02.000Z","expires":"2026-03-01T15:00:20.000Z"}`,
	`{"kind":2,"auction":1000,"bidder":50,"price":100,"ts":"2026-03-01T15:00:00.500Z"}`, // before it opens
	`{"kind":2,"auction":1000,"bidder":50,"price":300,"ts":"2026-03-01T15:00:02.500Z"}`,
	`{"kind":2,"auction":1000,"bidder":51,"price":200,"ts":"2026-03-01T15:00:05.000Z"}`, // as it closes
	`{"kind":2,"auction":1107,"bidder":50,"price":300,"ts":"2026-03-01T15:00:09.999Z"}`,
	`{"kind":2,"auction":1000,"bidder":51,"price":900,"ts":"2026-03-01T15:00:10.000Z"}`, // after it has closed
	`{"kind":0,"id":3,"name":"Cy","city":"Boise","state":"ID","ts":"2026-03-01T15:00:11.000Z"}`,
	`{"kind":1,"id":1230,"seller":1,"category":11,"ts":"2026-03-01T15:00:12.000Z","expires":"2026-03-01T15:00:30.000Z"}`,
	`{"kind":2,"auction":1230,"bidder":50,"price":400,"ts":"2026-03-01T15:00:12.500Z"}`,
	`{"kind":1,"id":1300,"seller":9,"category":10,"ts":"2026-03-01T15:00:13.000Z","expires":"2026-03-01T15:00:14.000Z"}`,
	`{"kind":2,"auction":1300,"bidder":52,"price":500,"ts":"2026-03-01T15:00:13.500Z"}`,
	`{"kind":2,"auction":1107,"bidder":50,"price":600,"ts":"2026-03-01T15:00:19.999Z"}`,
	`{"kind":0,"id":9,"name":"Di","city":"Portland","state":"OR","ts":"2026-03-01T15:00:30.000Z"}`,
	`{"kind":2,"auction":1230,"bidder":50,"price":500,"ts":"2026-03-01T15:00:29.999Z"}`, // a session's end, to the millisecond short of it
	`{"kind":1,"id":1301,"seller":3,"category":11,"ts":"2026-03-01T15:01:00.000Z","expires":"2026-03-01T15:01:10.000Z"}`,
	`{"kind":2,"auction":1230,"bidder":50,"price":700,"ts":"2026-03-01T15:01:00.000Z"}`,
}

// byHand are the events of hand, in two partitions, each in the order of its times but for what Lateness allows.
func byHand() Sources {
	partitions := make([][]stream.Record, 2)
	for i, line := range hand {
		partitions[i%2] = append(partitions[i%2], stream.Record{Value: []byte(line)})
	}
	return All(stream.Memory("nexmark", partitions))
}

// result runs a query and returns its rows as CSV, in their order, with the day left out of times.
func result(t *testing.T, q *stream.Query) string {
	t.Helper()
	running, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := running.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if totals := running.Totals(); totals.Bad+totals.Late > 0 {
		t.Errorf("%d bad and %d late records: %v", totals.Bad, totals.Late, running.BadRecords().Reasons)
	}
	var b bytes.Buffer
	if err := running.Results().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "2026-03-01T15:", ""), "Z", "")
}

// highestBids are the rows of query 7, in both of its forms.
const highestBids = `auction,price,bidder,ts
			1000,300,50,00:02.500
			1000,900,51,00:10.000
			1107,300,50,00:09.999
			1230,500,50,00:29.999
			1230,700,50,01:00.000`

func TestQueriesOnEventsMadeByHand(t *testing.T) {
	life := func(s Sources) *stream.Query { return Q4(s, 30*time.Second) }
	for _, each := range []struct {
		name  string
		build func(Sources) *stream.Query
		want  string
	}{
		{"q0", Q0, `auction,bidder,price,ts
			1000,50,100,00:00.500
			1000,50,300,00:02.500
			1000,51,200,00:05.000
			1000,51,900,00:10.000
			1107,50,300,00:09.999
			1107,50,600,00:19.999
			1230,50,400,00:12.500
			1230,50,500,00:29.999
			1230,50,700,01:00.000
			1300,52,500,00:13.500`},
		{"q1", Q1, `auction,bidder,price,ts
			1000,50,90.8,00:00.500
			1000,50,272.40000000000003,00:02.500
			1000,51,181.6,00:05.000
			1000,51,817.2,00:10.000
			1107,50,272.40000000000003,00:09.999
			1107,50,544.8000000000001,00:19.999
			1230,50,363.2,00:12.500
			1230,50,454,00:29.999
			1230,50,635.6,01:00.000
			1300,52,454,00:13.500`},
		{"q2", Q2, `auction,price
			1107,300
			1107,600
			1230,400
			1230,500
			1230,700`},
		{"q3, a seller who comes after the auction among them", Q3, `name,city,state,auction
			Ada,Bend,OR,1000
			Di,Portland,OR,1300`},
		{"q4: 300, 600 and 500 in one category, 500 in the other", life, `category,auctions,sum,mean
			10,3,1400,466.6666666666667
			11,1,500,500`},
		{"q5", Q5, `auction,num,window_start,window_end
			1000,1,2026-03-01T14:59:52,00:02
			1000,1,00:06,00:16
			1000,1,00:08,00:18
			1000,1,00:10,00:20
			1000,2,2026-03-01T14:59:54,00:04
			1000,2,00:04,00:14
			1000,3,2026-03-01T14:59:56,00:06
			1000,3,2026-03-01T14:59:58,00:08
			1000,3,00:00,00:10
			1000,3,00:02,00:12
			1107,1,00:06,00:16
			1107,1,00:08,00:18
			1107,1,00:10,00:20
			1107,1,00:12,00:22
			1107,1,00:14,00:24
			1107,1,00:16,00:26
			1107,1,00:18,00:28
			1230,1,00:06,00:16
			1230,1,00:08,00:18
			1230,1,00:10,00:20
			1230,1,00:12,00:22
			1230,1,00:20,00:30
			1230,1,00:22,00:32
			1230,1,00:24,00:34
			1230,1,00:26,00:36
			1230,1,00:28,00:38
			1230,1,00:52,01:02
			1230,1,00:54,01:04
			1230,1,00:56,01:06
			1230,1,00:58,01:08
			1230,1,01:00,01:10
			1300,1,00:06,00:16
			1300,1,00:08,00:18
			1300,1,00:10,00:20
			1300,1,00:12,00:22`},
		{"q7", Q7, highestBids},
		{"q7 as a join", Q7Join, highestBids},
		{"q8", Q8, `id,name,window_start
			1,Ada,00:00
			2,Bob,00:00`},
		{"q11: 29.999 is ten seconds after 19.999", Q11, `bidder,bid_count,window_start,window_end
			50,1,00:29.999,00:39.999
			50,1,01:00,01:10
			50,5,00:00.5,00:29.999
			51,2,00:05,00:20
			52,1,00:13.5,00:23.5`},
		{"q13", Q13, `auction,bidder,price,ts,value
			1000,50,100,00:00.500,value-1000
			1000,50,300,00:02.500,value-1000
			1000,51,200,00:05.000,value-1000
			1000,51,900,00:10.000,value-1000
			1107,50,300,00:09.999,value-1107
			1107,50,600,00:19.999,value-1107
			1230,50,400,00:12.500,value-1230
			1230,50,500,00:29.999,value-1230
			1230,50,700,01:00.000,value-1230
			1300,52,500,00:13.500,value-1300`},
	} {
		t.Run(each.name, func(t *testing.T) {
			if got, want := result(t, each.build(byHand())), strings.ReplaceAll(strings.TrimSpace(each.want), "\t", "")+"\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestWindowsOfTheClockHoldAllBids(t *testing.T) {
	before := time.Now()
	running, err := Q12(byHand()).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	bids := map[int64]int64{}
	rows := running.Results()
	for i := range rows.Len() {
		row := rows.Row(i)
		bids[row.Int("bidder")] += row.Int("bid_count")
		if !row.Time("window_end").After(before) || row.Time("window_end").Sub(row.Time("window_start")) != Wide {
			t.Errorf("a window from %v to %v", row.Time("window_start"), row.Time("window_end"))
		}
	}
	if want := map[int64]int64{50: 7, 51: 2, 52: 1}; !maps.Equal(bids, want) {
		t.Errorf("got %v, want %v", bids, want)
	}
}
