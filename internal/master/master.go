// Package master reads where work is to be done: in this process, or on Spark by way of a Spark Connect server. It ends at the text and
// its secrets: who reaches a server is cancha/spark, and what runs where is the library's business.
//
//	local[*]                              this process, as are local and local[4]
//	sc://host:15002/;token=…;use_ssl=true  a Spark Connect server, with parameters as Spark's own clients take them
package master

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cancha/internal/cellio"
)

// Local is the master of this process with all its cores, in Spark's words.
const Local = "local[*]"

// DefaultPort is Spark Connect's (spark.connect.grpc.binding.port).
const DefaultPort = 15002

// Master is where work is done. The zero Master is this process.
type Master struct {
	text string // "" or of the form local…: this process
	host string
	port int
}

// Parse reads a master: "" and local… are this process, sc://… is Spark. What Spark Connect servers themselves are started with (spark://…,
// yarn, k8s://…) is an error that says what to write instead. No error has the value of a parameter: it may be a secret.
func Parse(text string) (Master, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "", localForm.MatchString(text):
		return Master{text: text}, nil
	case strings.HasPrefix(text, scheme):
		return parseConnect(text)
	case slices.ContainsFunc(managers, func(m string) bool { return strings.HasPrefix(text, m) }):
		return Master{}, fmt.Errorf("%q is what a Spark Connect server is started with: write sc://HOST:%d, the address of that server", Hide(text), DefaultPort)
	}
	return Master{}, fmt.Errorf("%q is no master: write local[*] for this process, or sc://HOST:%d for a Spark Connect server", Hide(text), DefaultPort)
}

const scheme = "sc://"

// localForm are Spark's local masters; the second number is how often a task may fail, which nothing here does.
var localForm = regexp.MustCompile(`^local(\[\s*(\*|[1-9][0-9]{0,4})\s*(,\s*[1-9][0-9]{0,4}\s*)?\])?$`)

// managers are what Spark's other masters begin with: cluster managers, and clusters within a process.
var managers = []string{"spark://", "yarn", "k8s://", "mesos://", "local-cluster"}

// Manager tells whether a text is one of Spark's masters that are not this process: those of the cluster managers.
func Manager(text string) bool {
	return slices.ContainsFunc(managers, func(m string) bool { return strings.HasPrefix(strings.TrimSpace(text), m) })
}

// parseConnect reads sc://HOST[:PORT][/;KEY=VALUE…]. What parameters there are, the client of Spark knows.
func parseConnect(text string) (Master, error) {
	wrong := func(what string) (Master, error) {
		return Master{}, fmt.Errorf("%q: %s: write sc://HOST:%d, or sc://HOST:%d/;token=TOKEN", Hide(text), what, DefaultPort, DefaultPort)
	}
	address, parameters, _ := strings.Cut(strings.TrimPrefix(text, scheme), "/")
	host, port, err := split(address)
	switch {
	case strings.ContainsAny(address, ";@?# "):
		return wrong("parameters stand behind a slash and semicolons")
	case err != nil:
		return wrong(err.Error())
	case parameters != "" && !strings.HasPrefix(parameters, ";"):
		return wrong("behind the slash parameters begin with a semicolon")
	}
	for p := range strings.SplitSeq(parameters, ";") {
		if key, _, ok := strings.Cut(p, "="); p != "" && (!ok || key == "") {
			return wrong("a parameter is KEY=VALUE")
		}
	}
	return Master{text, host, port}, nil
}

// split reads HOST or HOST:PORT.
func split(address string) (host string, port int, err error) {
	if bare := strings.Trim(address, "[]"); !strings.Contains(address, ":") || net.ParseIP(bare) != nil && strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]") {
		if bare == "" {
			return "", 0, errors.New("there is no host")
		}
		return bare, DefaultPort, nil
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return "", 0, errors.New("there is no host, or more than one port")
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, errors.New("the port is no number from 1 to 65535")
	}
	return host, port, nil
}

// Local tells whether the master is this process.
func (m Master) Local() bool { return m.host == "" }

// Cores is n of local[n]; 0 where the master does not say, or is a cluster.
func (m Master) Cores() int {
	if found := localForm.FindStringSubmatch(m.text); found != nil {
		n, _ := strconv.Atoi(found[2]) // "*" is as nothing
		return n
	}
	return 0
}

// Address is the server's host and port; "" of this process.
func (m Master) Address() string {
	if m.Local() {
		return ""
	}
	return net.JoinHostPort(m.host, strconv.Itoa(m.port))
}

// Text is the master as it was written, secrets included: for whoever connects.
func (m Master) Text() string { return m.text }

// String is the master as a person may see it, see Hide.
func (m Master) String() string {
	if m.text == "" {
		return Local
	}
	return Hide(m.text)
}

// shownParameters are those of sc://… that are no secrets. Any other may be a header that lets its bearer in.
var shownParameters = []string{"use_ssl", "user_id", "user_agent", "ca"}

// Hide returns a text that may be a master without what may be a secret in it: sc://host:15002/;token=(hidden).
func Hide(text string) string {
	head, rest, found := strings.Cut(text, ";")
	if before, after, ok := strings.Cut(head, "://"); ok { // sc://name:password@host
		if i := strings.LastIndex(after, "@"); i >= 0 {
			head = before + "://(hidden)" + after[i:]
		}
	}
	if before, _, ok := strings.Cut(head, "?"); ok {
		head = before + "?(hidden)"
	}
	if address, path, ok := strings.Cut(strings.TrimPrefix(head, scheme), "/"); ok && path != "" && strings.HasPrefix(head, scheme) {
		head = scheme + address + "/(hidden)"
	}
	if !found {
		return head
	}
	parts := strings.Split(rest, ";")
	for i, p := range parts {
		key, _, ok := strings.Cut(p, "=")
		switch {
		case slices.Contains(shownParameters, key):
		case ok:
			parts[i] = key + "=(hidden)"
		case p != "":
			parts[i] = "(hidden)"
		}
	}
	return head + ";" + strings.Join(parts, ";")
}

// written finds masters in a text.
var written = regexp.MustCompile(`sc://\S+`)

// HideIn is Hide for each sc://… in a text.
func HideIn(text string) string { return written.ReplaceAllStringFunc(text, Hide) }

// setting is where this process takes the master from that a query does not name.
type setting struct {
	mu   sync.Mutex
	read func() (string, error)
}

func process() *setting { return cellio.Resident(func() *setting { return &setting{} }) }

// OnSetting sets the function that reads the setting of this process. An engine of notebooks has one; an ordinary program has none, and
// says what it wants where it starts a query.
func OnSetting(read func() (string, error)) {
	s := process()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = read
}

// Setting is the master that the settings of this process name, read anew each time; the zero Master where nobody has set any. The error
// says where a wrong one stands.
func Setting() (Master, error) {
	s := process()
	s.mu.Lock()
	read := s.read
	s.mu.Unlock()
	if read == nil {
		return Master{}, nil
	}
	text, err := read()
	if err != nil {
		return Master{}, err
	}
	return Parse(text)
}
