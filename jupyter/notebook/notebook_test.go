package notebook

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a1",
   "metadata": {},
   "source": [
    "# Title <b>\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "a2",
   "metadata": {
    "tags": [
     "parameters"
    ]
   },
   "outputs": [],
   "source": [
    "data := \"\" // folder\n",
    "events, rate := 2000, 1.5\n",
    "var wait = 3 * time.Second\n",
    "quick := false\n",
    "var title string\n",
    "var share float64\n",
    "var share2 float64 = 1\n",
    "const k = 3"
   ]
  }
 ],
 "metadata": {
  "unknown": 12345678901234567890
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestRoundTripIsExact(t *testing.T) {
	n, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out", "n.ipynb")
	if err := n.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != sample {
		t.Errorf("got\n%s\nwant\n%s", got, sample)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " \n", "empty"},
		{"no JSON", "{\n\nhello", "line 3"},
		{"a list", "[]", "a JSON array"},
		{"null", "null", "a JSON null"},
		{"cut off", `{"nbformat":4,"cells":[`, "cut off"},
		{"two", "{}\n{}", "more after"},
		{"old format", `{"nbformat":3,"worksheets":[]}`, "nbformat is 3"},
		{"no cells", `{"nbformat":4}`, "no list of cells"},
		{"odd cell", `{"nbformat":4,"cells":[3]}`, "cell 1 is no object"},
		{"odd source", `{"nbformat":4,"cells":[{"cell_type":"code","source":["x",3]}]}`, "the source of cell 1"},
	} {
		if _, err := Parse([]byte(c.text)); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestParseWithAByteOrderMark(t *testing.T) {
	n, err := Parse([]byte("\ufeff" + `{"nbformat":4,"cells":[{"cell_type":"code","source":"1"}]}`))
	if err != nil || len(n.Cells) != 1 {
		t.Errorf("got %+v, %v", n, err)
	}
}

func TestLanguage(t *testing.T) {
	for text, want := range map[string]string{
		`{"nbformat":4,"cells":[]}`: "",
		`{"nbformat":4,"cells":[],"metadata":{"language_info":{"name":"Go"}}}`:                                        "go",
		`{"nbformat":4,"cells":[],"metadata":{"kernelspec":{"language":"python"},"language_info":{"name":"python"}}}`: "python",
	} {
		n, err := Parse([]byte(text))
		if err != nil || n.Language() != want {
			t.Errorf("%s: got %q, %v; want %q", text, n.Language(), err, want)
		}
	}
}

func TestSetParameters(t *testing.T) {
	for _, c := range []struct {
		name   string
		values map[string]string
		want   string // source of the cell put in
		fail   string // part of the error
	}{
		{"text is quoted", map[string]string{"data": `a "b"`}, "// Parameters\ndata = \"a \\\"b\\\"\"", ""},
		{"others are expressions", map[string]string{"rate": "2.5", "events": "10", "wait": "time.Minute"}, "// Parameters\nevents = 10\nrate = 2.5\nwait = time.Minute", ""},
		{"unknown name", map[string]string{"evnts": "1"}, "", "data, events, rate, wait, quick, title, share, share2, k"},
		{"no expression", map[string]string{"events": "1 2"}, "", "\"1 2\" is not a Go expression; its default is 2000"},
		{"a number as a sum", map[string]string{"events": "1<<10 + 1", "rate": "3"}, "// Parameters\nevents = 1<<10 + 1\nrate = 3", ""},
		{"no whole number", map[string]string{"events": "1.5"}, "", "1.5 is not a whole number; its default is 2000"},
		{"text for a number", map[string]string{"events": "\"1\""}, "", "not a whole number"},
		{"a word for a number", map[string]string{"rate": "fast"}, "", "fast is not a number; its default is 1.5"},
		{"no truth value", map[string]string{"quick": "1"}, "", "1 is not true or false; its default is false"},
		{"text without default", map[string]string{"title": "a b"}, "// Parameters\ntitle = \"a b\"", ""},
		{"number without default", map[string]string{"share": "x"}, "", "x is not a number; it has no default"},
		{"float with a whole default", map[string]string{"share2": "0.5"}, "// Parameters\nshare2 = 0.5", ""},
		{"constant", map[string]string{"k": "4"}, "", "k is a constant"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := Parse([]byte(sample))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time replaces the first
				err = n.SetParameters(c.values)
			}
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Fatalf("got %v, want an error with %q", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(n.Cells) != 3 || n.Cells[2].Source != c.want || !n.Cells[2].Tagged("injected-parameters") {
				t.Errorf("got %d cells, %q", len(n.Cells), n.Cells[len(n.Cells)-1].Source)
			}
		})
	}
}

func TestSetParametersWithoutTheCell(t *testing.T) {
	n, _ := Parse([]byte(`{"nbformat":4,"cells":[]}`))
	if err := n.SetParameters(map[string]string{"x": "1"}); err == nil {
		t.Error("no error")
	}
}

func TestRecorder(t *testing.T) {
	n, _ := Parse([]byte(`{"nbformat":4,"cells":[{"cell_type":"code","source":"","metadata":{}},{"cell_type":"code","source":"","metadata":{}}]}`))
	r := NewRecorder()
	r.Begin(n.Cells[0])
	r.Add(n.Cells[0], "execute_input", map[string]any{"execution_count": 1})
	r.Add(n.Cells[0], "stream", map[string]any{"name": "stdout", "text": "a\nb"})
	r.Add(n.Cells[0], "stream", map[string]any{"name": "stdout", "text": "c\n"})
	r.Add(n.Cells[0], "stream", map[string]any{"name": "stdout", "text": "d"})
	r.Add(n.Cells[0], "stream", map[string]any{"name": "stdout", "text": ""})
	r.Add(n.Cells[0], "stream", map[string]any{"name": "stdout", "text": "e\nf\n"})
	r.Add(n.Cells[0], "display_data", map[string]any{
		"data": map[string]any{"text/plain": "old", "image/png": "AA=="}, "metadata": map[string]any{},
		"transient": map[string]any{"display_id": "d"},
	})
	first, second := n.Cells[0], n.Cells[1]
	r.Begin(second)
	r.Add(second, "stream", map[string]any{"name": "stderr", "text": "gone"})
	r.Add(second, "clear_output", map[string]any{"wait": true})
	r.Add(second, "execute_result", map[string]any{"execution_count": 2, "data": map[string]any{"text/plain": "6"}, "metadata": map[string]any{}})
	r.Add(second, "update_display_data", map[string]any{
		"data": map[string]any{"text/plain": "new"}, "metadata": map[string]any{}, "transient": map[string]any{"display_id": "d"},
	})
	r.Add(second, "error", map[string]any{"ename": "e", "evalue": "v", "traceback": []any{"t"}})
	r.Add(first, "stream", map[string]any{"name": "stdout", "text": "late"})
	got, err := json.Marshal([]any{n.Cells[0].raw["outputs"], n.Cells[1].raw["outputs"]})
	if err != nil {
		t.Fatal(err)
	}
	want := `[[{"name":"stdout","output_type":"stream","text":["a\n","bc\n","de\n","f\n"]},` +
		`{"data":{"text/plain":["new"]},"metadata":{},"output_type":"display_data"},{"name":"stdout","output_type":"stream","text":["late"]}],` +
		`[{"data":{"text/plain":["6"]},"execution_count":2,"metadata":{},"output_type":"execute_result"},` +
		`{"ename":"e","evalue":"v","output_type":"error","traceback":["t"]}]]`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
