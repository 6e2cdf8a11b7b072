package master

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text    string
		local   bool
		cores   int
		address string
		shown   string
	}{
		{"", true, 0, "", "local[*]"},
		{"local", true, 0, "", "local"},
		{" local[*] ", true, 0, "", "local[*]"},
		{"local[4]", true, 4, "", "local[4]"},
		{"local[2, 3]", true, 2, "", "local[2, 3]"},
		{"local[*,3]", true, 0, "", "local[*,3]"},
		{"sc://spark", false, 0, "spark:15002", "sc://spark"},
		{"sc://spark:443/", false, 0, "spark:443", "sc://spark:443/"},
		{"sc://[::1]:15002", false, 0, "[::1]:15002", "sc://[::1]:15002"},
		{"sc://[::1]", false, 0, "[::1]:15002", "sc://[::1]"},
		{"sc://h:1/;token=s3cret;use_ssl=true;x-databricks-cluster-id=s3cret", false, 0, "h:1", "sc://h:1/;token=(hidden);use_ssl=true;x-databricks-cluster-id=(hidden)"},
		{"sc://h:1/;token=s3cret==;", false, 0, "h:1", "sc://h:1/;token=(hidden);"},
	} {
		m, err := Parse(c.text)
		if err != nil || m.Local() != c.local || m.Cores() != c.cores || m.Address() != c.address || m.String() != c.shown {
			t.Errorf("%q: got %v %d %q %q, %v, want %v %d %q %q", c.text, m.Local(), m.Cores(), m.Address(), m, err, c.local, c.cores, c.address, c.shown)
		}
		if m.Text() != strings.TrimSpace(c.text) {
			t.Errorf("%q: for whoever connects it is %q", c.text, m.Text())
		}
	}
}

// TestParseRefuses: what is wrong says what to write, and shows no secret.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"spark://h:7077":                  "what a Spark Connect server is started with: write sc://HOST:15002",
		"yarn":                            "what a Spark Connect server is started with",
		"k8s://https://h:6443":            "what a Spark Connect server is started with",
		"local-cluster[2,1,1024]":         "what a Spark Connect server is started with",
		"local[0]":                        "is no master: write local[*] for this process, or sc://HOST:15002",
		"h:15002":                         "is no master",
		"http://u:s3cret@h/?token=s3cret": "is no master",
		"sc://":                           "there is no host",
		"sc://:15002":                     "there is no host",
		"sc://h:port":                     "the port is no number",
		"sc://h:99999":                    "the port is no number",
		"sc://h:1:2":                      "there is no host, or more than one port",
		"sc://h:1;token=s3cret":           "parameters stand behind a slash",
		"sc://u:s3cret@h:1":               "parameters stand behind a slash",
		"sc://h:1/token=s3cret":           "begin with a semicolon",
		"sc://h:1/;s3cret":                "a parameter is KEY=VALUE",
		"sc://h:1/;=s3cret":               "a parameter is KEY=VALUE",
	} {
		m, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %q", text, m, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error shows the secret: %v", text, err)
		}
	}
}

func TestSetting(t *testing.T) {
	t.Cleanup(func() { OnSetting(nil) })
	if m, err := Setting(); err != nil || !m.Local() {
		t.Errorf("of an ordinary program: got %v, %v", m, err)
	}
	text, wrong := "sc://h", error(nil)
	OnSetting(func() (string, error) { return text, wrong })
	if m, err := Setting(); err != nil || m.Address() != "h:15002" {
		t.Errorf("got %v, %v", m, err)
	}
	text, wrong = "", errors.New("cancha.conf:3")
	if m, err := Setting(); !errors.Is(err, wrong) {
		t.Errorf("a wrong setting: got %v, %v", m, err)
	}
}

func TestHideIn(t *testing.T) {
	got := HideIn("line 2 says spark.remote sc://h:1/;token=s3cret, and; sc://h:1/s3cret? a@b")
	if want := "line 2 says spark.remote sc://h:1/;token=(hidden) and; sc://h:1/(hidden) a@b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
