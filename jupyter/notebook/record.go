package notebook

import "strings"

// Recorder turns the messages of an execution into the outputs of cells, as Jupyter's own clients do. One Recorder serves a
// whole run of a notebook: displays are updated across cells, and goroutines of earlier cells go on printing there.
type Recorder struct {
	clear    map[*Cell]bool // to be cleared at the next output
	displays map[string][]map[string]any
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder {
	return &Recorder{clear: map[*Cell]bool{}, displays: map[string][]map[string]any{}}
}

// Begin starts a cell: its outputs and count are cleared.
func (r *Recorder) Begin(c *Cell) {
	delete(r.clear, c)
	c.raw["outputs"] = []any{}
	c.raw["execution_count"] = nil
}

// Add takes one message about a cell from the kernel's iopub channel, by its type and content. Types without an output are
// ignored.
func (r *Recorder) Add(c *Cell, kind string, content map[string]any) {
	switch kind {
	case "execute_input":
		c.raw["execution_count"] = content["execution_count"]
	case "stream":
		r.stream(c, content)
	case "display_data":
		r.append(c, bundle(kind, content), displayID(content))
	case "execute_result":
		out := bundle(kind, content)
		out["execution_count"] = content["execution_count"]
		r.append(c, out, displayID(content))
	case "update_display_data":
		for _, out := range r.displays[displayID(content)] {
			out["data"], out["metadata"] = data(content), content["metadata"]
		}
	case "clear_output":
		if wait, _ := content["wait"].(bool); wait {
			r.clear[c] = true
		} else {
			r.empty(c)
		}
	case "error":
		r.append(c, map[string]any{
			"output_type": kind, "ename": content["ename"], "evalue": content["evalue"], "traceback": content["traceback"],
		}, "")
	}
}

func (r *Recorder) empty(c *Cell) {
	c.raw["outputs"] = []any{}
	delete(r.clear, c)
}

func (r *Recorder) append(c *Cell, out map[string]any, id string) {
	if r.clear[c] {
		r.empty(c)
	}
	if id != "" {
		r.displays[id] = append(r.displays[id], out)
	}
	outs, _ := c.raw["outputs"].([]any)
	c.raw["outputs"] = append(outs, out)
}

func (r *Recorder) stream(c *Cell, content map[string]any) {
	text, _ := content["text"].(string)
	outs, _ := c.raw["outputs"].([]any)
	if n := len(outs); n > 0 && !r.clear[c] {
		last, _ := outs[n-1].(map[string]any)
		if last["output_type"] == "stream" && last["name"] == content["name"] {
			before, _ := last["text"].([]string)
			last["text"] = extended(before, text)
			return
		}
	}
	r.append(c, map[string]any{"output_type": "stream", "name": content["name"], "text": lines(text)}, "")
}

// extended adds text to lines, of which only the last may lack its newline. It does not touch the others: a cell may print
// for hours.
func extended(before []string, text string) []string {
	n := len(before)
	if n == 0 || strings.HasSuffix(before[n-1], "\n") {
		return append(before, lines(text)...)
	}
	return append(before[:n-1], lines(before[n-1]+text)...)
}

func bundle(kind string, content map[string]any) map[string]any {
	return map[string]any{"output_type": kind, "data": data(content), "metadata": content["metadata"]}
}

// data is a message's MIME bundle with its texts as lists of lines, as nbformat stores them; base64 stays one string.
func data(content map[string]any) map[string]any {
	in, _ := content["data"].(map[string]any)
	out := map[string]any{}
	for mime, v := range in {
		s, ok := v.(string)
		if ok && (strings.HasPrefix(mime, "text/") || mime == "image/svg+xml") {
			out[mime] = lines(s)
		} else {
			out[mime] = v
		}
	}
	return out
}

func displayID(content map[string]any) string {
	transient, _ := content["transient"].(map[string]any)
	id, _ := transient["display_id"].(string)
	return id
}
