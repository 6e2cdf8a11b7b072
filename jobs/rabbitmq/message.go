package rabbitmq

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// Headers of our own. All begin with x-, so none of them is a Message's.
const (
	headerMark  = "x-cancha-mark"  // number of what is published, by which it is known when it is returned
	headerCount = "x-cancha-count" // how often the message had been handed out when it was published again
	headerHome  = "x-cancha-home"  // the queue in which that was: in another one it does not count
	headerDue   = "x-cancha-due"   // when a message that is kept away comes again; in ms since 1970

	headerDeathQueue  = "x-cancha-death-queue" // queue.Death
	headerDeathReason = "x-cancha-death-reason"
	headerDeathCount  = "x-cancha-death-count"
	headerDeathAt     = "x-cancha-death-at"
)

// The server's headers.
const (
	headerDelivered = "x-delivery-count"
	headerDeaths    = "x-death"
)

// publishing is a message as the client takes it; it shares nothing with m.
func publishing(m *queue.Message) amqp.Publishing {
	headers := make(amqp.Table, len(m.Headers)+1)
	for name, value := range m.Headers {
		headers[name] = value
	}
	return amqp.Publishing{Headers: headers, ContentType: m.ContentType, DeliveryMode: amqp.Persistent, Priority: uint8(m.Priority),
		CorrelationId: m.CorrelationID, ReplyTo: m.ReplyTo, MessageId: m.ID, Timestamp: time.Now(), Body: slices.Clone(m.Body)}
}

// again is a delivery as it is published once more, without what the server and we have written on it. A time to live of its own is left
// out, since it would end a waiting; so is the user, since a server takes only one's own.
func again(d *amqp.Delivery) amqp.Publishing {
	headers := maps.Clone(d.Headers)
	maps.DeleteFunc(headers, func(name string, _ any) bool { return ours(name) })
	if headers == nil {
		headers = amqp.Table{}
	}
	return amqp.Publishing{Headers: headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: amqp.Persistent,
		Priority:      d.Priority,
		CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, MessageId: d.MessageId, Timestamp: d.Timestamp, Type: d.Type, AppId: d.AppId, Body: d.Body}
}

func ours(name string) bool {
	switch name {
	case headerDelivered, headerDeaths, "x-opt-rabbitmq-delivery-time":
		return true
	}
	return strings.HasPrefix(name, "x-cancha-") || strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

// message is what a delivery has, mended where a foreign program wrote what no Message has.
func message(d *amqp.Delivery) queue.Message {
	return queue.Message{ID: mended(d.MessageId), Body: d.Body, ContentType: mended(d.ContentType), Priority: min(int(d.Priority), queue.MaxPriority),
		ReplyTo: mended(d.ReplyTo), CorrelationID: mended(d.CorrelationId), Headers: texts(d.Headers)}
}

// mended is a text that Message.Check takes.
func mended(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) > queue.MaxText {
		text = strings.ToValidUTF8(text[:queue.MaxText], "")
	}
	return text
}

// texts are those headers that a Message can have, as text, until they are too large together. nil: none.
func texts(headers amqp.Table) map[string]string {
	var all map[string]string
	room := queue.MaxHeaders
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value, ok := text(headers[name])
		if name = mended(name); !ok || name == "" || strings.HasPrefix(strings.ToLower(name), "x-") || len(name)+len(value) > room {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		room -= len(name) + len(value)
		all[name] = value
	}
	return all
}

// text is the value of a header; false: it is a table or a list.
func text(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return strings.ToValidUTF8(v, "�"), true
	case []byte:
		return strings.ToValidUTF8(string(v), "�"), true
	case time.Time:
		return v.UTC().Format(time.RFC3339), true
	case amqp.Decimal:
		return fmt.Sprintf("%de-%d", v.Value, v.Scale), true
	case amqp.Table, map[string]any, []any:
		return "", false
	default:
		return fmt.Sprint(v), true
	}
}

// count is how often a delivery of a queue has been handed out, this time included.
func count(d *amqp.Delivery, name string) int {
	n := 1
	if home, _ := d.Headers[headerHome].(string); home == name {
		n += number(d.Headers[headerCount], 0)
	}
	if returned, counted := d.Headers[headerDelivered]; counted {
		return n + number(returned, 0)
	}
	if d.Redelivered {
		n++
	}
	return n
}

// number is the value of a header, which clients send in several sizes.
func number(value any, otherwise int) int {
	switch v := value.(type) {
	case int:
		return v
	case int8:
		return int(v)
	case int16:
		return int(v)
	case int32:
		return int(v)
	case int64:
		return int(v)
	case uint8:
		return int(v)
	case uint16:
		return int(v)
	case uint32:
		return int(v)
	}
	return otherwise
}

// death is why a message lies among the dead letters: what Dead has written, or else what the server has. nil: it does not.
func death(d *amqp.Delivery, name string) *queue.Death {
	if from, ok := d.Headers[headerDeathQueue].(string); ok && from != name {
		at, _ := d.Headers[headerDeathAt].(int64)
		reason, _ := d.Headers[headerDeathReason].(string)
		return &queue.Death{Queue: from, Reason: reason, Count: number(d.Headers[headerDeathCount], queue.Unknown), At: time.UnixMilli(at)}
	}
	deaths, _ := d.Headers[headerDeaths].([]any)
	for _, one := range deaths { // the last death is the first entry
		entry, _ := one.(amqp.Table)
		from, _ := entry["queue"].(string)
		if from == "" || from == name {
			continue
		}
		reason, _ := entry["reason"].(string)
		at, _ := entry["time"].(time.Time)
		if reason == "delivery_limit" {
			reason = queue.ReasonLimit
		}
		return &queue.Death{Queue: from, Reason: mended(reason), Count: queue.Unknown, At: at}
	}
	return nil
}

// write puts a Death into the headers of what is published.
func write(headers amqp.Table, d queue.Death) {
	headers[headerDeathQueue], headers[headerDeathReason] = d.Queue, d.Reason
	headers[headerDeathCount], headers[headerDeathAt] = int64(d.Count), d.At.UnixMilli()
}

// short is a name that is at most so long, and differs where the whole one does.
func short(name string, most int, sum []byte) string {
	if len(name) <= most {
		return name
	}
	tail := hex.EncodeToString(sum)
	return strings.ToValidUTF8(name[:most-len(tail)], "") + tail
}
