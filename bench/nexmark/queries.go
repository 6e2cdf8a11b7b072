package main

import (
	"fmt"
	"strings"
	"time"

	"cancha/stream"
)

// Sources are where the events are read. Each may hold all kinds: a query takes those that it wants by the member kind.
type Sources struct{ Persons, Auctions, Bids stream.Source }

// All are Sources that are one.
func All(s stream.Source) Sources { return Sources{s, s, s} }

// Lateness is how late events may come, as Flink's Nexmark has it: WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND.
const Lateness = 4 * time.Second

// Wide and Narrow are the windows of queries 5, 7, 8, 11 and 12.
const (
	Wide   = 10 * time.Second
	Narrow = 2 * time.Second
)

// SideRows is how many rows the table of query 13 has.
const SideRows = 10_000

// events are the events of a kind, timed by their member ts.
func events(source stream.Source, kind int) *stream.Query {
	return stream.From(source).EventTime(stream.Field("ts").AsTime()).Watermark(Lateness).Filter(stream.Field("kind").Eq(kind))
}

func (s Sources) bids() *stream.Query     { return events(s.Bids, bid) }
func (s Sources) persons() *stream.Query  { return events(s.Persons, person) }
func (s Sources) auctions() *stream.Query { return events(s.Auctions, auction) }

// Q0 passes bids through, to see what reading and writing cost.
//
//	SELECT auction, bidder, price, dateTime FROM bid
func Q0(s Sources) *stream.Query {
	return s.bids().Select("auction", "bidder", "price", "ts").Name("q0")
}

// Q1 converts prices from dollars to euros. Prices are float64 here, DECIMAL(23, 3) in Flink.
//
//	SELECT auction, bidder, 0.908 * price AS price, dateTime FROM bid
func Q1(s Sources) *stream.Query {
	return s.bids().With("price", stream.Field("price").Mul(0.908)).Select("auction", "bidder", "price", "ts").Name("q1")
}

// Q2 picks the bids of some auctions.
//
//	SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0
func Q2(s Sources) *stream.Query {
	return s.bids().Filter(stream.Field("auction").Mod(123).Eq(0)).Select("auction", "price").Name("q2")
}

// Forever is how far apart in event time a person and an auction may be for query 3: as long as the API allows, so that the interval join
// is the regular one for any run. A run keeps all persons and auctions that pass the filters, as it does in every engine.
const Forever = 180 * 24 * time.Hour

// Q3 finds who sells in category 10 in three states.
//
//	SELECT P.name, P.city, P.state, A.id FROM auction A JOIN person P ON A.seller = P.id
//	WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')
//
// The join there knows no time; ours is an interval join whose interval is longer than the run.
func Q3(s Sources) *stream.Query {
	auctions := s.auctions().Filter(stream.Field("category").Eq(10)).With("auction", stream.Field("id")).Select("auction", "seller")
	persons := s.persons().Filter(stream.Field("state").In("OR", "ID", "CA")).Select("id", "name", "city", "state")
	return auctions.Join(persons, stream.On{Left: []string{"seller"}, Right: []string{"id"}}, stream.Within{Before: Forever, After: Forever}).
		Select("name", "city", "state", "auction").Name("q3")
}

// Q4 is the average closing price of each category; life bounds how long an auction is open.
//
//	SELECT Q.category, AVG(Q.final) FROM (
//	  SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
//	  WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires GROUP BY A.id, A.category) Q
//	GROUP BY Q.category
//
// The join of a bid with its auction is an interval join as long as the longest auction. The inner aggregation has no window: it is complete when
// the auction expires, which a window cannot say, so a keyed process keeps the highest bid and gives it out then. The outer one goes on for ever,
// in update mode.
func Q4(s Sources, life time.Duration) *stream.Query {
	auctions := s.auctions().With("opens", stream.Field("ts").AsTime()).With("closes", stream.Field("expires").AsTime()).
		Select("id", "category", "opens", "closes")
	return s.bids().With("at", stream.Field("ts").AsTime()).Select("auction", "price", "at").
		Join(auctions, stream.On{Left: []string{"auction"}, Right: []string{"id"}}, stream.Within{Before: life}).
		Filter(stream.Field("at").Between(stream.Field("opens"), stream.Field("closes"))).
		Process(closing(life)).
		GroupBy("category").TimeToLive(Forever).
		Agg(stream.Count("auctions"), stream.Sum("sum", stream.Field("final")), stream.Mean("mean", stream.Field("final"))).
		Output(stream.Update).Name("q4")
}

// closing gives out the category and the highest bid of each auction when it has closed.
func closing(life time.Duration) stream.Processing {
	type state struct{ category, highest int64 }
	return stream.Processing{
		Name: "closing price", Keys: []string{"auction"}, Fields: []string{"category", "price", "closes"},
		Columns:    []stream.Column{{Name: "category", Kind: stream.Int}, {Name: "final", Kind: stream.Int}},
		TimeToLive: 2*life + Lateness,
		State:      func() any { return &state{} },
		Row: func(c *stream.Context, of any, bid stream.Row) error {
			s := of.(*state)
			if s.highest == 0 { // prices are 100 and more
				s.category = bid.Int("category")
				c.SetTimer(bid.Time("closes").Add(1)) // a bid at that very time counts
			}
			s.highest = max(s.highest, bid.Int("price"))
			return nil
		},
		Timer: func(c *stream.Context, of any, _ time.Time) error {
			s := of.(*state)
			return c.Emit(s.category, s.highest)
		},
	}
}

// Q5 finds the auctions with the most bids in the last ten seconds, every two seconds.
//
//	SELECT AuctionBids.auction, AuctionBids.num FROM (
//	  SELECT auction, count(*) AS num, window_start, window_end
//	  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end) AuctionBids
//	JOIN (SELECT max(num) AS maxn, window_start, window_end FROM (… the same …) GROUP BY window_start, window_end) MaxBids
//	ON AuctionBids.window_start = MaxBids.window_start AND AuctionBids.window_end = MaxBids.window_end AND AuctionBids.num >= MaxBids.maxn
//
// The join with the maximum is TopTies here.
func Q5(s Sources) *stream.Query {
	return s.bids().GroupBy("auction").Window(stream.Sliding(Wide, Narrow)).Agg(stream.Count("num")).TopTies(1, "num").
		Select("auction", "num", "window_start", "window_end").Name("q5")
}

// Q7 finds the highest bids of every ten seconds.
//
//	SELECT B.auction, B.price, B.bidder, B.dateTime FROM bid B JOIN (
//	  SELECT MAX(price) AS maxprice, window_end FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
//	  GROUP BY window_start, window_end) B1
//	ON B.price = B1.maxprice WHERE B.dateTime BETWEEN B1.window_end - INTERVAL '10' SECOND AND B1.window_end
//
// The join with the maximum is a keyed process here, which keeps the highest bids of a window until it is over. (The published BETWEEN has a bid at
// the end of a window in two windows; here it is in its own alone.)
func Q7(s Sources) *stream.Query {
	return s.bids().With("window", stream.Field("ts").AsTime().Truncate(Wide)).Process(highest).Name("q7")
}

// highest gives out the highest bids of each window, all of the same price, when it is over.
var highest = stream.Processing{
	Name: "highest bids", Keys: []string{"window"}, Fields: []string{"auction", "price", "bidder", "ts"},
	Columns: []stream.Column{{Name: "auction", Kind: stream.Int}, {Name: "price", Kind: stream.Int}, {Name: "bidder", Kind: stream.Int},
		{Name: "ts", Kind: stream.Text}},
	TimeToLive: Wide + Lateness,
	State:      func() any { return &best{} },
	Row: func(c *stream.Context, of any, bid stream.Row) error {
		b, price := of.(*best), bid.Int("price")
		if price < b.price {
			return nil
		}
		if len(b.bids) == 0 {
			c.SetTimer(c.Key()[0].Time().Add(Wide - 1))
		}
		if price > b.price {
			b.price, b.bids = price, b.bids[:0]
		}
		b.bids = append(b.bids, offer{bid.Int("auction"), bid.Int("bidder"), strings.Clone(bid.Text("ts"))})
		return nil
	},
	Timer: func(c *stream.Context, of any, _ time.Time) error {
		b := of.(*best)
		for _, o := range b.bids {
			if err := c.Emit(o.auction, b.price, o.bidder, o.ts); err != nil {
				return err
			}
		}
		return nil
	},
}

// best are the bids of the highest price so far; prices are 100 and more.
type best struct {
	price int64
	bids  []offer
}

type offer struct {
	auction, bidder int64
	ts              string
}

// Q7Join is query 7 as it is published, with the join. A row of a window is timed by the window's last nanosecond, so the bids of the window are
// those up to ten seconds less a nanosecond before it.
func Q7Join(s Sources) *stream.Query {
	highest := s.bids().Window(stream.Tumbling(Wide)).Agg(stream.Max("highest", stream.Field("price"))).Select("highest")
	return s.bids().Select("auction", "price", "bidder", "ts").
		Join(highest, stream.On{Left: []string{"price"}, Right: []string{"highest"}}, stream.Within{After: Wide - 1}).
		Select("auction", "price", "bidder", "ts").Name("q7join")
}

// Q8 finds the persons who opened an auction in the ten seconds in which they came.
//
//	SELECT P.id, P.name, P.window_start FROM (
//	  SELECT id, name, window_start, window_end FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
//	  GROUP BY id, name, window_start, window_end) P
//	JOIN (SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE auction, …)) GROUP BY seller, window_start, window_end) A
//	ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end
//
// Rows of one window have one time, so the join is within nothing. An Agg must compute something, if only a count.
func Q8(s Sources) *stream.Query {
	sellers := s.auctions().GroupBy("seller").Window(stream.Tumbling(Wide)).Agg(stream.Count("auctions")).Select("seller", "window_start")
	return s.persons().GroupBy("id", "name").Window(stream.Tumbling(Wide)).Agg(stream.Count("persons")).Select("id", "name", "window_start").
		Join(sellers, stream.On{Left: []string{"id", "window_start"}, Right: []string{"seller", "window_start"}}, stream.Within{}).
		Select("id", "name", "window_start").Name("q8")
}

// Q11 counts the bids of each session of a bidder, which ends after ten seconds without one.
//
//	SELECT bidder, count(*) AS bid_count, window_start, window_end
//	FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)) GROUP BY bidder, window_start, window_end
func Q11(s Sources) *stream.Query {
	return s.bids().GroupBy("bidder").Window(stream.Session(Wide)).Agg(stream.Count("bid_count")).
		Select("bidder", "bid_count", "window_start", "window_end").Name("q11")
}

// Q12 counts the bids of each bidder in every ten seconds of the clock.
//
//	SELECT bidder, count(*) AS bid_count, window_start, window_end
//	FROM TABLE(TUMBLE(TABLE (SELECT *, PROCTIME() AS p_time FROM bid), DESCRIPTOR(p_time), INTERVAL '10' SECOND)) GROUP BY bidder, window_start, window_end
//
// The time of an event is when it is read. What the last windows hold is given out when the source ends; Flink drops it.
func Q12(s Sources) *stream.Query {
	return stream.From(s.Bids).EventTime(stream.Now()).Filter(stream.Field("kind").Eq(bid)).
		GroupBy("bidder").Window(stream.Tumbling(Wide)).Agg(stream.Count("bid_count")).
		Select("bidder", "bid_count", "window_start", "window_end").Name("q12")
}

// Q13 adds a column of a table that does not change.
//
//	SELECT B.auction, B.bidder, B.price, B.dateTime, S.value FROM bid B
//	JOIN side_input FOR SYSTEM_TIME AS OF B.p_time S ON mod(B.auction, 10000) = S.key
func Q13(s Sources) *stream.Query {
	return s.bids().With("key", stream.Field("auction").Mod(SideRows)).Lookup(SideTable(), stream.Same("key")).
		Select("auction", "bidder", "price", "ts", "value").Name("q13")
}

// SideTable is the table of query 13: the keys from 0 on, each with a value that names it.
func SideTable() *stream.Table {
	rows := stream.NewRows(stream.Column{Name: "key", Kind: stream.Int}, stream.Column{Name: "value", Kind: stream.Text})
	for k := range int64(SideRows) {
		rows.Append(stream.IntOf(k), stream.TextOf(fmt.Sprintf("value-%d", k)))
	}
	return stream.TableOf("side", rows, "key")
}
