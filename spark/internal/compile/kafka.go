package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cancha/stream/plan"
)

// kafkaSource are the options of Spark's Kafka source.
func (c *compiler) kafkaSource(in plan.Input) (map[string]string, error) {
	k := in.Kafka
	if k == nil {
		return nil, fmt.Errorf("spark: the source %s is in this process or on this machine, and the cluster cannot read it; "+
			"write the records to a topic of Kafka", in.Source)
	}
	options, err := c.kafkaClient(k)
	if err != nil {
		return nil, err
	}
	if err := subscribe(options, k); err != nil {
		return nil, err
	}
	if k.Group != "" {
		c.note("Group does nothing: Spark reads all partitions in one query, keeps offsets in its checkpoint, and commits none.")
	}
	if k.Committed {
		options["kafka.isolation.level"] = "read_committed"
	}
	if most := c.batch(); most > 0 && !c.table {
		options["maxOffsetsPerTrigger"] = strconv.FormatInt(most, 10)
	}
	options["startingOffsets"], err = startingOffsets(k, c.table)
	return options, err
}

// batch is how many records a batch reads at most; 0: no bound.
func (c *compiler) batch() int64 {
	if c.limit > 0 && (c.options.BatchRecords == 0 || c.limit < c.options.BatchRecords) {
		return c.limit
	}
	return c.options.BatchRecords
}

// subscribe names the topics. Spark takes names, or one pattern.
func subscribe(options map[string]string, k *plan.Kafka) error {
	switch {
	case k.Pattern == "":
		options["subscribe"] = strings.Join(k.Topics, ",")
	case len(k.Topics) > 0:
		return fmt.Errorf("spark: kafka.Config has Topics %q and a Pattern; Spark takes the one or the other: write a Pattern that matches all", k.Topics)
	default:
		p, err := javaPattern("^(?:" + k.Pattern + ")$")
		if err != nil {
			return err
		}
		options["subscribePattern"] = p.text
	}
	return nil
}

// startingOffsets is where partitions are begun with. Spark wants either one word for all of them, or an offset for each.
func startingOffsets(k *plan.Kafka, table bool) (string, error) {
	if len(k.Offsets) == 0 {
		if k.Latest && !table {
			return "latest", nil
		}
		return "earliest", nil
	}
	if k.Pattern != "" {
		return "", errors.New("spark: kafka.Config has OffsetsOf and a Pattern; Spark wants the offset of each partition of topics that are named: " +
			"name them in Topics")
	}
	offsets := map[string]map[string]int64{}
	for topic, of := range k.Offsets {
		offsets[topic] = map[string]int64{}
		for partition, at := range of {
			offsets[topic][strconv.Itoa(partition)] = at
		}
	}
	if missing := slices.DeleteFunc(slices.Clone(k.Topics), func(t string) bool { return offsets[t] != nil }); len(missing) > 0 {
		return "", fmt.Errorf("spark: kafka.Config has Offsets of some topics and none of %q; Spark wants the offset of each partition: "+
			"name them all, or none", missing)
	}
	text, err := json.Marshal(offsets)
	return string(text), err
}

// kafkaClient are the options of a way to brokers, as Kafka's Java client has them.
func (c *compiler) kafkaClient(k *plan.Kafka) (map[string]string, error) {
	options := map[string]string{"kafka.bootstrap.servers": strings.Join(k.Brokers, ",")}
	protocol := map[[2]bool]string{{false, false}: "", {true, false}: "SSL", {false, true}: "SASL_PLAINTEXT", {true, true}: "SASL_SSL"}
	if p := protocol[[2]bool{k.TLS, k.User != ""}]; p != "" {
		options["kafka.security.protocol"] = p
	}
	if k.User != "" {
		options["kafka.sasl.mechanism"] = k.Mechanism
		options["kafka.sasl.jaas.config"] = jaas(k)
	}
	maps.Copy(options, c.options.Kafka)
	if k.Private && options["kafka.ssl.truststore.location"] == "" && options["kafka.ssl.truststore.certificates"] == "" {
		return nil, errors.New("spark: kafka.Security.TLS has certificates of its own, which lie in this process; give the cluster's machines " +
			"a store with them, and name it in the option kafka.ssl.truststore.location")
	}
	return options, nil
}

// jaas is a user as Java's login takes it.
func jaas(k *plan.Kafka) string {
	module := "org.apache.kafka.common.security.plain.PlainLoginModule"
	if k.Mechanism != "PLAIN" {
		module = "org.apache.kafka.common.security.scram.ScramLoginModule"
	}
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return fmt.Sprintf(`%s required username="%s" password="%s";`, module, escaped.Replace(k.User), escaped.Replace(string(k.Password)))
}
