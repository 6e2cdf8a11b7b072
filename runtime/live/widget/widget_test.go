package widget

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/cellio"
	"cancha/runtime/display"
)

// TestModels compares what is opened with what ipywidgets 8.1 opens: names, modules, versions, and every key.
func TestModels(t *testing.T) {
	b := open(t)
	for _, c := range []struct {
		w           Widget
		names, keys string
	}{
		{NewFloatProgress(FloatProgressConfig{}), "FloatProgressModel ProgressView ProgressStyleModel", "bar_style description description_allow_html layout max min orientation style value"},
		{NewIntSlider(IntSliderConfig{}), "IntSliderModel IntSliderView SliderStyleModel", "behavior continuous_update description description_allow_html disabled layout max min orientation readout readout_format step style value"},
		{NewFloatSlider(FloatSliderConfig{}), "FloatSliderModel FloatSliderView SliderStyleModel", "behavior continuous_update description description_allow_html disabled layout max min orientation readout readout_format step style value"},
		{NewDropdown(DropdownConfig{}), "DropdownModel DropdownView DescriptionStyleModel", "_options_labels description description_allow_html disabled index layout style"},
		{NewCheckbox(CheckboxConfig{}), "CheckboxModel CheckboxView CheckboxStyleModel", "description description_allow_html disabled indent layout style value"},
		{NewButton(ButtonConfig{}), "ButtonModel ButtonView ButtonStyleModel", "button_style description disabled icon layout style"},
		{NewText(TextConfig{}), "TextModel TextView TextStyleModel", "continuous_update description description_allow_html disabled layout placeholder style value"},
		{NewOutput(), "OutputModel OutputView", "layout msg_id outputs"},
		{NewHBox(), "HBoxModel HBoxView", "box_style children layout"},
		{NewVBox(), "VBoxModel VBoxView", "box_style children layout"},
	} {
		got := b.model(c.w)
		names := fmt.Sprint(got["_model_name"], " ", got["_view_name"])
		b.mu.Lock()
		if style, ok := got["style"].(string); ok {
			names += fmt.Sprint(" ", b.models[strings.TrimPrefix(style, "IPY_MODEL_")]["_model_name"])
		}
		layout := b.models[strings.TrimPrefix(fmt.Sprint(got["layout"]), "IPY_MODEL_")]
		b.mu.Unlock()
		if names != c.names || layout["_model_name"] != "LayoutModel" || len(layout) != 46 {
			t.Errorf("got %s with a layout of %d keys, want %s", names, len(layout), c.names)
		}
		module, version := "@jupyter-widgets/controls", "2.0.0"
		if c.names[:3] == "Out" {
			module, version = "@jupyter-widgets/output", "1.0.0"
		}
		if got["_model_module"] != module || got["_view_module"] != module || got["_model_module_version"] != version || got["_view_module_version"] != version {
			t.Errorf("%s: modules %v %v, %v %v", names, got["_model_module"], got["_model_module_version"], got["_view_module"], got["_view_module_version"])
		}
		want := map[string]bool{}
		for key := range strings.FieldsSeq(c.keys + " _dom_classes _model_module _model_module_version _model_name _view_count _view_module _view_module_version _view_name tabbable tooltip") {
			want[key] = true
		}
		for key := range got {
			if !want[key] {
				t.Errorf("%s: has %s, which ipywidgets does not", names, key)
			}
			delete(want, key)
		}
		for key := range want {
			t.Errorf("%s: lacks %s", names, key)
		}
	}
}

// TestFromTheUser: what a front end sends is taken, clamped or refused; the front end is told what counts.
func TestFromTheUser(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func() Widget
		data   string
		heard  string
		value  func(w Widget) any
		want   any
		buffer string
	}{
		{"int", nil, update(`{"value":7}`), `echo_update {"value":7}`, nil, 7, ""},
		{"beyond the range", nil, update(`{"value":1e300}`), "echo_update {\"value\":1e+300}\nupdate {\"value\":10}", nil, 10, ""},
		{"below the range", nil, update(`{"value":-1}`), "echo_update {\"value\":-1}\nupdate {\"value\":0}", nil, 0, ""},
		{"not whole", nil, update(`{"value":2.6}`), "echo_update {\"value\":2.6}\nupdate {\"value\":3}", nil, 3, ""},
		{"no number", nil, update(`{"value":"7"}`), "echo_update {\"value\":\"7\"}\nupdate {\"value\":5}", nil, 5, ""},
		{"null", nil, update(`{"value":null}`), "echo_update {\"value\":null}\nupdate {\"value\":5}", nil, 5, ""},
		{"not to be changed", nil, update(`{"max":3}`), "echo_update {\"max\":3}\nupdate {\"max\":10}", nil, 5, ""},
		{"unknown key", nil, update(`{"nothing":3}`), "", nil, 5, ""},
		{"buffer", nil, `{"method":"update","state":{},"buffer_paths":[["value"]]}`, "echo_update {}\nupdate {\"value\":5}", nil, 5, "x"},
		{"buffers without places", nil, `{"method":"update","state":{"value":6},"buffer_paths":[[],["a",1],["value",7,"x"],[3]]}`, `echo_update {"value":6}`, nil, 6, "x"},
		{"no state", nil, `{"method":"update"}`, "", nil, 5, ""},
		{"another method", nil, `{"method":"dance"}`, "", nil, 5, ""},
		{"no object", nil, `[1]`, "", nil, 5, ""},
		{"float", func() Widget { return NewFloatSlider(FloatSliderConfig{Max: 1}) }, update(`{"value":0.25}`), `echo_update {"value":0.25}`, func(w Widget) any { return w.(*FloatSlider).Value() }, 0.25, ""},
		{"float beyond", func() Widget { return NewFloatSlider(FloatSliderConfig{Max: 1}) }, update(`{"value":2}`), "echo_update {\"value\":2}\nupdate {\"value\":1}", func(w Widget) any { return w.(*FloatSlider).Value() }, 1.0, ""},
		{"choice", two, update(`{"index":1}`), `echo_update {"index":1}`, choice, "b", ""},
		{"no choice", two, update(`{"index":null}`), `echo_update {"index":null}`, choice, "", ""},
		{"choice beyond", two, update(`{"index":2}`), "echo_update {\"index\":2}\nupdate {\"index\":0}", choice, "a", ""},
		{"choice by half", two, update(`{"index":0.5}`), "echo_update {\"index\":0.5}\nupdate {\"index\":0}", choice, "a", ""},
		{"check", func() Widget { return NewCheckbox(CheckboxConfig{}) }, update(`{"value":true}`), `echo_update {"value":true}`, func(w Widget) any { return w.(*Checkbox).Value() }, true, ""},
		{"check with a number", func() Widget { return NewCheckbox(CheckboxConfig{}) }, update(`{"value":1}`), "echo_update {\"value\":1}\nupdate {\"value\":false}", func(w Widget) any { return w.(*Checkbox).Value() }, false, ""},
		{"text", func() Widget { return NewText(TextConfig{}) }, update(`{"value":"é"}`), `echo_update {"value":"é"}`, func(w Widget) any { return w.(*Text).Value() }, "é", ""},
		{"output", func() Widget { return NewOutput() }, update(`{"outputs":[{"output_type":"stream","text":"hi"}]}`), "", func(w Widget) any { return w.(*Output).String() }, "hi", ""},
		{"output that is none", func() Widget { return NewOutput() }, update(`{"outputs":7}`), `update {"outputs":[]}`, func(w Widget) any { return w.(*Output).String() }, "(no output)", ""},
		{"output of nonsense", func() Widget { return NewOutput() }, update(`{"outputs":[7,{"text":8},{"data":{"text/plain":9}}]}`), "", func(w Widget) any { return w.(*Output).String() }, "9\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t)
			if c.make == nil {
				c.make = func() Widget { return NewIntSlider(IntSliderConfig{Value: 5, Max: 10}) }
				c.value = func(w Widget) any { return w.(*IntSlider).Value() }
			}
			w := c.make()
			var buffers [][]byte
			if c.buffer != "" {
				buffers = [][]byte{[]byte(c.buffer)}
			}
			b.send(w, c.data, buffers...)
			if got := b.heard(); got != c.heard {
				t.Errorf("the front end hears\n%s\nwant\n%s", got, c.heard)
			}
			if got := c.value(w); got != c.want {
				t.Errorf("value: got %v, want %v", got, c.want)
			}
		})
	}
}

func two() Widget { return NewDropdown(DropdownConfig{Options: []string{"a", "b"}}) }

func choice(w Widget) any { return w.(*Dropdown).Value() }

func TestNoEchoWhereItIsOff(t *testing.T) {
	b := open(t)
	w := NewIntSlider(IntSliderConfig{})
	t.Setenv("JUPYTER_WIDGETS_ECHO", "Off")
	b.send(w, update(`{"value":3}`))
	if got := b.heard(); got != "" {
		t.Errorf("got %s, want nothing", got)
	}
}

func TestObservers(t *testing.T) {
	b := open(t)
	var got []string
	note := func(what string) func(old, new any) {
		return func(old, new any) { got = append(got, fmt.Sprintf("%s %v %v", what, old, new)) }
	}
	i := NewIntSlider(IntSliderConfig{Value: 1})
	i.OnChange(func(int, int) { t.Error("an observer that was replaced was called") })
	i.OnChange(func(old, new int) { note("int")(old, new) })
	d := NewDropdown(DropdownConfig{Options: []string{"a", "b"}})
	d.OnChange(func(old, new string) { note("choice")(old, new) })
	x := NewText(TextConfig{})
	x.OnSubmit(func(v string) { note("submit")(v, "") })
	u := NewButton(ButtonConfig{})
	u.OnClick(func() { note("click")("", "") })

	b.send(i, update(`{"value":2}`))
	b.send(i, update(`{"value":2}`))
	i.SetValue(3)
	i.SetValue(3)
	i.SetRange(0, 2)
	if err := d.SetValue("b"); err != nil {
		t.Error(err)
	}
	if err := d.SetValue("c"); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("a value that is no option: got %v", err)
	}
	d.SetOptions("x", "b")
	d.SetOptions("x", "y")
	d.SetOptions("z", "y")
	b.send(x, update(`{"value":"Ada"}`))
	b.send(x, `{"method":"custom","content":{"event":"submit"}}`)
	b.send(u, `{"method":"custom","content":{"event":"click"}}`)
	b.send(u, `{"method":"custom","content":7}`)
	i.OnChange(nil)
	u.OnClick(nil)
	i.SetValue(0)
	u.Click()
	want := "[int 1 2 int 2 3 int 3 2 choice a b choice b x choice x z submit Ada  click  ]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
}

// TestUpdatesAreFew: a loop does not flood the front end, and the last value arrives.
func TestUpdatesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		p := NewFloatProgress(FloatProgressConfig{Max: 1000})
		for i := range 1001 {
			p.SetValue(float64(i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(sendEvery)
		lines := strings.Split(b.heard(), "\n")
		if last := lines[len(lines)-1]; len(lines) < 18 || len(lines) > 22 || last != `update {"value":1000}` {
			t.Errorf("%d updates, the last %s", len(lines), last)
		}
	})
}

// TestEndOfCellSendsTheLast: what is held back is sent before the cell's last frame.
func TestEndOfCellSendsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		p := NewFloatProgress(FloatProgressConfig{})
		run := cellio.NewRun(7)
		run.Do(func() { p.SetValue(1); p.SetValue(2) })
		run.End()
		if got, want := b.heard(), "update {\"value\":1}\nupdate {\"value\":2}"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		time.Sleep(sendEvery)
		if got := b.heard(); got != "" {
			t.Errorf("after the end: %s", got)
		}
	})
}

// TestNextCellSendsItsOwn: the goroutine of an earlier cell still waits, and sends nothing of the next.
func TestNextCellSendsItsOwn(t *testing.T) {
	for _, ended := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t)
			s := NewIntSlider(IntSliderConfig{Max: 100})
			first, second := cellio.NewRun(7), cellio.NewRun(8)
			first.Do(func() { s.SetValue(1); s.SetValue(2) })
			if ended {
				time.Sleep(sendEvery / 2)
				first.End()
			}
			second.Do(func() { s.SetValue(50) })
			time.Sleep(4 * sendEvery)
			second.End()
			if got := b.heard(); !strings.HasSuffix(got, `update {"value":50}`) || b.of != 8 {
				t.Errorf("first cell ended %v: got %s, the last of cell %d, want 50 of cell 8", ended, got, b.of)
			}
		})
	}
}

// TestInterruptedUpdate: what an interrupt keeps from leaving is sent when the cell ends.
func TestInterruptedUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		s := NewIntSlider(IntSliderConfig{Max: 100})
		b.outlet.Grant(cellio.Credit{})
		synctest.Wait()
		for range 64 { // no more may wait for credit
			_ = b.outlet.Emit(cellio.KindClear, 1, cellio.Clear{})
		}
		run := cellio.NewRun(7)
		go run.Do(func() { s.SetValue(5) })
		synctest.Wait()
		run.Interrupt()
		synctest.Wait()
		run.End()
		b.outlet.Flush()
		said := strings.Split(b.heard(), "\n")
		if got, want := said[len(said)-1], `update {"value":5}`; got != want || b.of != 7 {
			t.Errorf("at last got %s of cell %d, want %s of cell 7", got, b.of, want)
		}
		time.Sleep(sendEvery)
	})
}

func TestOutput(t *testing.T) {
	b := open(t)
	o := NewOutput()
	inner := NewOutput()
	run := cellio.NewRun(9)
	run.Message = "m9"
	run.Do(func() {
		fmt.Fprint(cellio.Stdout, "before")
		o.With(func() {
			fmt.Fprint(cellio.Stdout, "in")
			inner.With(func() { display.Clear(true) })
			fmt.Fprint(cellio.Stdout, "again")
		})
		func() {
			defer func() { _ = recover() }()
			o.With(func() { panic("no") })
		}()
		fmt.Fprint(cellio.Stderr, "after")
	})
	want := `stream {"name":"stdout","text":"before"}
update {"msg_id":"m9"}
stream {"name":"stdout","text":"in"}
update {"msg_id":"m9"}
clear {"wait":true}
update {"msg_id":""}
stream {"name":"stdout","text":"again"}
update {"msg_id":""}
update {"msg_id":"m9"}
update {"msg_id":""}`
	if got := b.heard(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPanicInACallback: the front end goes on taking the output of a callback that ends so, of which the error is the last, but not
// that of one which recovers.
func TestPanicInACallback(t *testing.T) {
	b := open(t)
	o, u := NewOutput(), NewButton(ButtonConfig{})
	fail := func() { o.With(func() { panic(meant) }) }
	for _, c := range []struct {
		name     string
		callback func()
		want     string
	}{
		{"ends the callback", fail, `update {"msg_id":"moved"}`},
		{"the next callback", func() { o.With(func() {}) }, `update {"msg_id":"moved"}` + "\n" + `update {"msg_id":""}`},
		{"recovered", func() { defer func() { _ = recover() }(); fail() }, `update {"msg_id":"moved"}` + "\n" + `update {"msg_id":""}`},
	} {
		u.OnClick(c.callback)
		b.send(u, `{"method":"custom","content":{"event":"click"}}`)
		if got := b.heard(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if got := o.m.get("msg_id"); got != "" {
			t.Errorf("%s: the output goes on with %q", c.name, got)
		}
	}
}

func TestControlComm(t *testing.T) {
	b := open(t)
	w := NewCheckbox(CheckboxConfig{}) // three models: itself, its layout and its style
	b.sendTo(cellio.KindCommOpen, cellio.Comm{ID: "control", Target: "jupyter.widget.control", Metadata: json.RawMessage(`{"version":"1.0.0"}`)})
	b.sendTo(cellio.KindCommMsg, cellio.Comm{ID: "control", Data: json.RawMessage(`{"method":"request_states"}`)})
	if got, want := b.heard(), "update_states 3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.send(w, `{"method":"request_state"}`)
	if got := b.heard(); !strings.HasPrefix(got, `update {"_dom_classes":[],`) || !strings.Contains(got, `"value":false`) {
		t.Errorf("request_state: got %s", got)
	}
	w.Close()
	w.Close()
	if left := len(residents().list()); left != 0 || b.model(w) != nil {
		t.Errorf("a closed widget leaves %d of 3 models", left)
	}
	w.SetValue(true)
	if got := b.heard(); got != "" || !w.Value() {
		t.Errorf("a closed widget says %q, its value %v", got, w.Value())
	}
	b.sendTo(cellio.KindCommOpen, cellio.Comm{ID: "old", Target: "jupyter.widget.control", Metadata: json.RawMessage(`{"version":"2.0"}`)})
}

// TestPictures: what a reader sees who has no widgets.
func TestPictures(t *testing.T) {
	open(t)
	slider := NewIntSlider(IntSliderConfig{Description: "trees", Value: 50, Min: 1, Max: 200})
	for _, c := range []struct {
		w    Widget
		want string
	}{
		{slider, "trees: 50 (slider from 1 to 200)"},
		{NewFloatSlider(FloatSliderConfig{Value: 0.5, Max: 1}), "0.5 (slider from 0 to 1)"},
		{NewFloatProgress(FloatProgressConfig{Description: "training", Value: 1e6, Max: 4e6}), "training: 1000000 of 4000000 (25 %)"},
		{NewFloatProgress(FloatProgressConfig{Value: 3, Min: 3, Max: 3}), "3 of 3 (100 %)"},
		{NewDropdown(DropdownConfig{Description: "model", Options: []string{"a", "b"}, Value: "b"}), "model: b (one of a, b)"},
		{NewDropdown(DropdownConfig{}), "nothing (no choice)"},
		{NewCheckbox(CheckboxConfig{Description: "shots", Value: true}), "[x] shots"},
		{NewButton(ButtonConfig{Description: "Train"}), "[ Train ]"},
		{NewText(TextConfig{Description: "name", Value: "<Ada>"}), `name: "<Ada>"`},
		{NewVBox(slider, NewHBox(NewCheckbox(CheckboxConfig{Description: "a"}), NewButton(ButtonConfig{Description: "b"}))), "trees: 50 (slider from 1 to 200)\n[ ] a  [ b ]"},
	} {
		bundle := c.w.MIMEBundle()
		if bundle["text/plain"] != c.want {
			t.Errorf("got %q, want %q", bundle["text/plain"], c.want)
		}
		page := bundle["text/html"].(string)
		if page == "" || strings.Contains(page, "<Ada>") {
			t.Errorf("%s: HTML %q", c.want, page)
		}
		view := bundle["application/vnd.jupyter.widget-view+json"].(map[string]any)
		if view["model_id"] != c.w.ID() || view["version_major"] != 2 {
			t.Errorf("%s: view %v", c.want, view)
		}
	}
}

func TestBoxes(t *testing.T) {
	b := open(t)
	a, inner := NewButton(ButtonConfig{}), NewVBox()
	outer := NewHBox(a, nil, inner)
	if got, want := b.model(outer)["children"], []any{"IPY_MODEL_" + a.ID(), "IPY_MODEL_" + inner.ID()}; !reflect.DeepEqual(got, want) {
		t.Errorf("children: got %v, want %v", got, want)
	}
	for name, child := range map[string]Widget{"itself": inner, "what holds it": outer} {
		if err := inner.SetChildren(child); !errors.Is(err, ErrCircle) {
			t.Errorf("%s: got %v, want ErrCircle", name, err)
		}
	}
	if err := outer.SetChildren(a); err != nil || len(outer.Children()) != 1 {
		t.Errorf("got %v and %d children", err, len(outer.Children()))
	}
}

// TestOddSettings: whatever a cell asks for, JSON can say it and the value is in its range.
func TestOddSettings(t *testing.T) {
	b := open(t)
	nan, inf := math.NaN(), math.Inf(1)
	f := NewFloatSlider(FloatSliderConfig{Value: nan, Min: inf, Max: -2, Step: nan})
	p := NewFloatProgress(FloatProgressConfig{Value: inf, Max: 5})
	f.SetValue(nan)
	f.SetValue(-inf)
	f.SetRange(nan, inf)
	p.SetValue(inf)
	i := NewIntSlider(IntSliderConfig{Value: 9, Min: 5, Max: -5, Step: -1})
	if f.Value() != 0 || p.Value() != 5 || i.Value() != 5 {
		t.Errorf("got %v, %v, %v, want 0, 5, 5", f.Value(), p.Value(), i.Value())
	}
	if m := b.model(i); m["min"] != -5.0 || m["max"] != 5.0 || m["step"] != 1.0 {
		t.Errorf("range: got %v", m)
	}
	d := NewDropdown(DropdownConfig{Options: []string{"a"}, Value: "z"})
	d.SetOptions()
	if d.Index() != -1 || d.Value() != "" || len(d.Options()) != 0 {
		t.Errorf("without options: %d %q", d.Index(), d.Value())
	}
	i.SetLayout(Layout{Width: "50%", Border: "1px solid red"})
	i.SetStyle(Style{HandleColor: "red", BarColor: "blue"})
	i.SetDescription("<b>")
	i.SetTooltip("t")
	i.SetTooltip("")
	heard := b.heard()
	for _, want := range []string{`"width":"50%"`, `"border_top":"1px solid red"`, `"handle_color":"red"`} {
		if !strings.Contains(heard, want) {
			t.Errorf("the front end does not hear %s in %s", want, heard)
		}
	}
	if strings.Contains(heard, "bar_color") {
		t.Error("a slider's style got the colour of a bar")
	}
}

// TestManyGoroutines is for the race detector: people, cells and front ends at once.
func TestManyGoroutines(t *testing.T) {
	b := open(t)
	s, o := NewIntSlider(IntSliderConfig{}), NewOutput()
	box := NewVBox(s)
	s.OnChange(func(_, new int) { o.With(func() { fmt.Fprint(cellio.Stdout, new) }) })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				s.SetValue(i * j % 100)
				_ = box.SetChildren(s, o)
				_ = box.MIMEBundle()
				s.SetRange(0, 100)
			}
		})
	}
	for i := range 50 {
		b.send(s, update(fmt.Sprintf(`{"value":%d}`, i)))
	}
	wg.Wait()
	box.Close()
	s.Close()
	o.Close()
}

// TestDetached: outside a cell widgets are plain values.
func TestDetached(t *testing.T) {
	cellio.Attach(nil)
	s := NewIntSlider(IntSliderConfig{Value: 3})
	changed := 0
	s.OnChange(func(old, new int) { changed = new })
	s.SetValue(4)
	NewOutput().With(func() { changed++ })
	if _, has := s.MIMEBundle()["application/vnd.jupyter.widget-view+json"]; has || changed != 5 || s.Value() != 4 {
		t.Errorf("a view: %v; changed %d; value %d", has, changed, s.Value())
	}
	s.Close()
}

func FuzzReceive(f *testing.F) {
	for _, seed := range []string{update(`{"value":3}`), update(`{"index":null}`), `{"method":"custom","content":{"event":"click"}}`, `{"method":"update","buffer_paths":[["outputs",0,"data"],[0]]}`} {
		f.Add([]byte(seed), []byte("buffer"))
	}
	widgets := func() []Widget {
		return []Widget{NewIntSlider(IntSliderConfig{}), two(), NewText(TextConfig{}), NewButton(ButtonConfig{}), NewOutput(), NewVBox()}
	}
	f.Fuzz(func(t *testing.T, data, buffer []byte) {
		b := open(t)
		for _, w := range widgets() {
			if json.Valid(data) {
				b.send(w, string(data), buffer, buffer)
			}
			if _, err := json.Marshal(w.MIMEBundle()); err != nil {
				t.Error(err)
			}
			w.Close()
		}
	})
}
