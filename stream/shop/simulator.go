package shop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"cancha/stream"
)

// Records are the records of a shop in the order of their arrival, each with its topic and key, and the time of its arrival as time stamp.
// They can be ranged over more than once. Of a Config without Records there is no end.
func Records(cfg Config) (iter.Seq[stream.Record], error) {
	cfg.fill()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return func(yield func(stream.Record) bool) { newSimulator(cfg, yield).run() }, nil
}

// simulator lives through the shop's days. Orders are made in order of time; what arrives later than it happens waits in pending.
type simulator struct {
	cfg   Config
	dice  dice
	yield func(stream.Record) bool

	now     time.Time
	stock   []article
	orders  int
	pending []delivery
	made    int // deliveries
	sent    int
	enough  bool // yield wants no more
}

// delivery is a record on its way. Of several that arrive at once the one that was made first comes first.
type delivery struct {
	at     time.Time
	number int
	record stream.Record
}

func (d delivery) compare(o delivery) int {
	return cmp.Or(d.at.Compare(o.at), cmp.Compare(d.number, o.number))
}

func newSimulator(cfg Config, yield func(stream.Record) bool) *simulator {
	return &simulator{cfg: cfg, dice: dice{rand.New(rand.NewPCG(cfg.Seed, 1))}, yield: yield, now: cfg.Start, stock: slices.Clone(articles)}
}

func (s *simulator) run() {
	for i := range s.stock {
		s.publish(i)
	}
	for !s.enough && (s.cfg.Records == 0 || s.sent < s.cfg.Records) {
		s.now = s.now.Add(s.gap())
		s.deliver(s.now)
		if s.dice.chance(priceChanges) {
			s.reprice()
		}
		s.order()
	}
	s.deliver(s.now.Add(math.MaxInt64))
}

// deliver sends all that arrives until a time.
func (s *simulator) deliver(until time.Time) {
	n := 0
	for n < len(s.pending) && !s.enough && !s.pending[n].at.After(until) {
		s.enough = !s.yield(s.pending[n].record)
		n++
		s.sent++
	}
	s.pending = slices.Delete(s.pending, 0, n)
}

// post lets a record arrive some time after it happened.
func (s *simulator) post(topic, key string, value []byte, at time.Time) {
	d := delivery{at, s.made, stream.Record{Topic: topic, Time: at, Key: []byte(key), Value: value}}
	s.made++
	i, _ := slices.BinarySearchFunc(s.pending, d, delivery.compare)
	s.pending = slices.Insert(s.pending, i, d)
}

// gap is the time to the next order. Cities order by their own time of day.
func (s *simulator) gap() time.Duration {
	perHour := 0.0
	for _, c := range cities {
		perHour += c.orders * demand(s.now, c.ahead)
	}
	return time.Duration(s.dice.ExpFloat64() / perHour * float64(time.Hour)).Truncate(time.Millisecond)
}

func (s *simulator) order() {
	s.orders++
	made := s.now
	o := Order{Order: fmt.Sprintf("o-%06d", s.orders), Customer: fmt.Sprintf("c-%04d", s.dice.IntN(5000)), City: s.city(),
		Channel: channels[s.dice.pick(channelShares)], Created: made}
	cents := 0
	for _, i := range s.basket() {
		a, n := s.stock[i], 1+s.dice.pick(quantityShares)
		o.Items = append(o.Items, Item{SKU: a.sku, Quantity: n, Price: euro(a.cents)})
		cents += n * a.cents
	}
	o.Total = euro(cents)
	arrives := made.Add(s.dice.logNormal(300*time.Millisecond, 0.5))
	if o.Channel == "store" && s.dice.chance(offline) {
		arrives = made.Add(s.dice.logNormal(90*time.Second, 1))
	}
	s.twice(Orders, o.Order, s.orderValue(o), arrives)
	s.pay(o, fmt.Sprintf("p-%06d", s.orders))
}

// basket is one to four articles, each once.
func (s *simulator) basket() []int {
	var chosen []int
	for range 1 + s.dice.pick(basketShares) {
		if i := s.dice.pick(popularity); !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

func (s *simulator) city() string {
	shares := make([]float64, len(cities))
	for i, c := range cities {
		shares[i] = c.orders * demand(s.now, c.ahead)
	}
	return cities[s.dice.pick(shares)].name
}

// twice lets a record arrive, and now and then a second time.
func (s *simulator) twice(topic, key string, value []byte, at time.Time) {
	s.post(topic, key, value, at)
	if s.dice.chance(repeated) {
		s.post(topic, key, value, at.Add(s.dice.between(time.Second, 20*time.Second)))
	}
}

// pay lets the customer pay: soon, or late, or never, or twice.
func (s *simulator) pay(o Order, id string) {
	if s.dice.chance(neverPaid) {
		return
	}
	after := s.dice.logNormal(25*time.Second, 0.8)
	if s.dice.chance(paidLate) {
		after = s.dice.between(6*time.Minute, 20*time.Minute)
	}
	p := Payment{Payment: id, Order: o.Order, Amount: o.Total, Method: "card", Paid: o.Created.Add(after)}
	if o.Channel == "store" {
		p.Method, p.Paid = "cash", o.Created.Add(s.dice.between(time.Second, 20*time.Second))
	} else if s.dice.chance(byTransfer) {
		p.Method = "transfer"
	}
	if s.dice.chance(unknownOrder) {
		p.Order = "x-" + o.Order[2:] // a typing error in a transfer, say
	}
	s.send(p)
	if s.dice.chance(paidTwice) {
		p.Payment, p.Paid = id+"b", p.Paid.Add(s.dice.between(5*time.Second, time.Minute))
		s.send(p)
	}
}

func (s *simulator) send(p Payment) {
	s.twice(Payments, p.Order, s.paymentValue(p), p.Paid.Add(s.dice.logNormal(300*time.Millisecond, 0.5)))
}

// reprice changes the price of an article by up to a fifth.
func (s *simulator) reprice() {
	i := s.dice.IntN(len(s.stock))
	was := float64(s.stock[i].cents)
	s.stock[i].cents = max(50, int(math.Round(was*(0.8+0.4*s.dice.Float64())/10))*10)
	s.publish(i)
}

func (s *simulator) publish(i int) {
	a := s.stock[i]
	s.post(Products, a.sku, encode(Product{SKU: a.sku, Name: a.name, Category: a.category, Price: euro(a.cents), Updated: s.now}), s.now)
}

func euro(cents int) float64 { return float64(cents) / 100 }

func encode(x any) []byte {
	text, err := json.Marshal(x)
	if err != nil {
		panic("shop: a record did not encode: " + err.Error()) // unreachable: they are of texts, numbers and times
	}
	return text
}
