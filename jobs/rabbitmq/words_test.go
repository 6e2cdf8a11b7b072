package rabbitmq

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// TestLaterNames: the queues in which messages wait have names that a server takes, and each queue has one of its own.
func TestLaterNames(t *testing.T) {
	long := strings.Repeat("ä", queue.MaxText/2)
	one, two := laterName(long+"1"), laterName(long+"2")
	if one == two || queue.CheckName(one) != nil || laterName("gpu_queue") != "cancha.later.gpu_queue" {
		t.Errorf("got %q, %q and %q", one, two, laterName("gpu_queue"))
	}
}

// TestDifference: what servers say of a queue that is there.
func TestDifference(t *testing.T) {
	for text, want := range map[string]*difference{
		"PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received the value 'quorum' of type 'longstr' but current is none": {"x-queue-type", ""},
		"PRECONDITION_FAILED - inequivalent arg 'x-expires' for queue 'q' in vhost '/': received none but current is the value '9' of type 'signedint'":       {"x-expires", "9"},
		"PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'":                                 {"durable", "false"},
		"PRECONDITION_FAILED - invalid arg 'x-expires' for queue 'q' in vhost '/': {value_zero,0}":                                                            nil,
	} {
		got := differenceOf(fmt.Errorf("declare: %w", &amqp.Error{Code: amqp.PreconditionFailed, Reason: text}))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{"HOST": "mq", "PORT": "tcp://10.0.0.1:5673", "USER": "u", "PASS": "p@/", "VHOST": "a/b"} {
		t.Setenv("RABBITMQ_"+name, value)
	}
	c, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.url()
	if err != nil {
		t.Fatal(err)
	}
	u, err := amqp.ParseURI(text)
	if err != nil || u.Host != "mq" || u.Port != 5673 || u.Username != "u" || u.Password != "p@/" || u.Vhost != "a/b" {
		t.Errorf("%s: got %+v, %v", text, u, err)
	}
	t.Setenv("RABBITMQ_URL", "amqps://u:p@mq/v?cacertfile=ca.pem")
	if c, err := FromEnv(); err != nil || c != (Config{URL: "amqps://u:p@mq/v?cacertfile=ca.pem"}) {
		t.Errorf("got %+v, %v", c, err)
	}
	t.Setenv("RABBITMQ_URL", "")
	if text, err = new(Config).url(); err != nil || text != "amqp://guest:guest@localhost:5672/%2F" {
		t.Errorf("got %s, %v", text, err)
	}
	t.Setenv("RABBITMQ_PORT", "many")
	if _, err := FromEnv(); err == nil || !strings.Contains(err.Error(), `"many"`) {
		t.Errorf("got %v", err)
	}
}
