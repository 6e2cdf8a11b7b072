package shop

import "time"

// The topics.
const (
	Orders   = "orders"
	Payments = "payments"
	Products = "products"
)

// Order is the value of a record of Orders.
type Order struct {
	Order    string    `json:"order"` // the id
	Customer string    `json:"customer"`
	City     string    `json:"city"`
	Channel  string    `json:"channel"` // web, app or store
	Created  time.Time `json:"created"`
	Items    []Item    `json:"items"`
	Total    float64   `json:"total"` // EUR
}

// Item is a line of an order.
type Item struct {
	SKU      string  `json:"sku"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"` // EUR for one, when the order was made
}

// Payment is the value of a record of Payments.
type Payment struct {
	Payment string    `json:"payment"` // the id
	Order   string    `json:"order"`
	Amount  float64   `json:"amount"` // EUR
	Method  string    `json:"method"` // card, transfer or cash
	Paid    time.Time `json:"paid"`
}

// Product is the value of a record of Products. The latest one of a SKU counts.
type Product struct {
	SKU      string    `json:"sku"`
	Name     string    `json:"name"`
	Category string    `json:"category"`
	Price    float64   `json:"price"` // EUR
	Updated  time.Time `json:"updated"`
}
