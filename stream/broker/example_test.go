package broker_test

import (
	"fmt"

	"cancha/stream/broker"
)

func ExampleStart() {
	b, err := broker.Start(broker.Config{Addr: "127.0.0.1:0", Partitions: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	// Any Kafka client may now connect to b.Addr().
	fmt.Println(b.Addr() != "")
	// Output: true
}
