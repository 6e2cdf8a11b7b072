package shop

import (
	"math"
	"math/rand/v2"
	"time"
)

// What happens how often, as a part of all orders, or of all records of a kind.
const (
	offline      = 0.08 // of the orders in stores: they arrive a minute and a half later (median), some much later
	repeated     = 0.015
	neverPaid    = 0.04
	paidLate     = 0.03 // after more than five minutes
	paidTwice    = 0.006
	unknownOrder = 0.005
	byTransfer   = 0.15
	priceChanges = 0.004

	cutShort  = 0.004
	wrongType = 0.003
	wrongTime = 0.002
)

var (
	channels       = []string{"web", "app", "store"}
	channelShares  = []float64{5, 3, 2}
	basketShares   = []float64{5, 3, 1.5, 0.5}
	quantityShares = []float64{7, 2, 1}
)

// city is where orders come from: how many an hour at a middling time of day, and how many hours its clocks are ahead of UTC.
type city struct {
	name   string
	orders float64
	ahead  float64
}

var cities = []city{{"Athens", 240, 2}, {"Helsinki", 210, 2}, {"Vienna", 390, 1}, {"Madrid", 450, 1}, {"Lisbon", 330, 0}, {"Porto", 180, 0}}

// demand is how much is ordered at a time of day, about 1 on average: little at night, most at noon and in the evening.
func demand(t time.Time, ahead float64) float64 {
	hour := math.Mod(float64(t.Hour())+float64(t.Minute())/60+ahead, 24)
	hill := func(at, width float64) float64 { return math.Exp(-(hour - at) * (hour - at) / (2 * width * width)) }
	return 0.25 + 1.8*hill(12.5, 1.3) + 2*hill(19.5, 2)
}

// article is what is sold.
type article struct {
	sku, name, category string
	cents               int
}

var articles = []article{
	{"T-01", "Darjeeling", "tea", 890}, {"T-02", "Earl Grey", "tea", 650}, {"T-03", "Assam", "tea", 580}, {"T-04", "Sencha", "tea", 940},
	{"T-05", "Rooibos", "tea", 490}, {"T-06", "Peppermint", "tea", 420}, {"C-01", "Espresso", "coffee", 1290},
	{"C-02", "Filter", "coffee", 990}, {"C-03", "Decaf", "coffee", 1090}, {"C-04", "Cold brew", "coffee", 450},
	{"P-01", "Teapot", "pots", 3490}, {"P-02", "Percolator", "pots", 2990}, {"P-03", "Moka pot", "pots", 2750}, {"P-04", "Kettle", "pots", 4900},
	{"M-01", "Blue mug", "mugs", 1190}, {"M-02", "White mug", "mugs", 950}, {"M-03", "Glass cup", "mugs", 790},
	{"S-01", "Shortbread", "sweets", 390}, {"S-02", "Chocolate", "sweets", 350}, {"S-03", "Fudge", "sweets", 310},
}

// popularity is how often an article is chosen, in the order of articles: cheap and everyday things more than pots.
var popularity = []float64{7, 10, 8, 5, 4, 4, 9, 11, 3, 5, 1.2, 2, 2.2, 0.8, 3, 2.5, 2, 6, 7, 4}

// dice are the draws of one shop.
type dice struct{ *rand.Rand }

func (d dice) chance(p float64) bool { return d.Float64() < p }

// logNormal is a span whose median is given, and whose logarithm has the standard deviation sigma.
func (d dice) logNormal(median time.Duration, sigma float64) time.Duration {
	return time.Duration(float64(median) * math.Exp(sigma*d.NormFloat64())).Truncate(time.Millisecond)
}

func (d dice) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.Float64()*float64(high-low)).Truncate(time.Millisecond)
}

// pick returns an index, each as likely as its weight.
func (d dice) pick(weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at := d.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}
