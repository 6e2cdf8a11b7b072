// Package shop is an online shop that never was: orders, payments and products as JSON records, for whoever wants to try queries on
// streams and has no topic at hand. It gives the records themselves (Records), a source of them (Source), or a whole shop that plays them
// into Kafka (Open). It ends at the record: what a query makes of them is for package stream.
//
// # Topics
//
// There are three, whose values are the types Order, Payment and Product:
//
//	orders    {"order":"o-000001","customer":"c-0042","city":"Porto","channel":"web","created":"2026-01-05T08:00:01.37Z",
//	          "items":[{"sku":"T-03","quantity":2,"price":4.5}],"total":9}
//	payments  {"payment":"p-000001","order":"o-000001","amount":9,"method":"card","paid":"2026-01-05T08:00:26.12Z"}
//	products  {"sku":"T-03","name":"Assam","category":"tea","price":4.5,"updated":"2026-01-05T08:00:00Z"}
//
// Keys are the order's id in orders and payments, and the sku in products.
//
// # What is wrong with them
//
// As in a real shop, not all is well:
//   - Stores are offline at times: their orders come minutes late.
//   - Some orders and payments come twice, because a client did not hear the answer and sent them again.
//   - Of the orders some are never paid, some long after, some twice (two payments of different ids); some payments are of no known order.
//   - Some records are damaged: JSON that is cut short, a text where a number is wanted, a time in another form.
//
// # Same seed, same bytes
//
// The records of a Config are the same each time, byte for byte and in the same order. They come in the order of their arrival,
// which is not that of their event times.
package shop
