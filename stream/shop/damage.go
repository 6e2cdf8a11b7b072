package shop

import "fmt"

// orderValue is an order as it is sent, sometimes damaged.
func (s *simulator) orderValue(o Order) []byte {
	switch x := s.dice.Float64(); {
	case x < cutShort:
		return s.cut(encode(o))
	case x < cutShort+wrongType:
		return encode(struct {
			Order
			Total string `json:"total"` // in place of Order's
		}{o, inWords(o.Total)})
	case x < cutShort+wrongType+wrongTime:
		return encode(struct {
			Order
			Created string `json:"created"`
		}{o, o.Created.Format("02.01.2006 15:04")})
	}
	return encode(o)
}

// paymentValue is a payment as it is sent, sometimes damaged.
func (s *simulator) paymentValue(p Payment) []byte {
	switch x := s.dice.Float64(); {
	case x < cutShort:
		return s.cut(encode(p))
	case x < cutShort+wrongType:
		return encode(struct {
			Payment
			Amount string `json:"amount"`
		}{p, inWords(p.Amount)})
	}
	return encode(p)
}

// cut is the beginning of a text.
func (s *simulator) cut(text []byte) []byte { return text[:1+s.dice.IntN(len(text)-1)] }

func inWords(amount float64) string { return fmt.Sprintf("EUR %.2f", amount) }
