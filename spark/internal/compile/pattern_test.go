package compile

import "testing"

// TestJavaPattern: patterns are written anew so that Java reads them as Go does. What they find is compared on a real Spark (parity_test.go).
func TestJavaPattern(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{`^a.c$`, `\Aa[^\n]c\z`},
		{`(?s)a.c`, `a(?s:.)c`},
		{`(?m)^a$`, `(?<![^\n])a(?![^\n])`},
		{`\d+\s?`, `(?:[0-9])+(?:[\x{9}-\x{a}\x{c}-\x{d} ])?`},
		{`(?i)ks`, `[Kk\x{212a}][Ss\x{17f}]`},
		{`(a|b)*?[^c]`, `(?:([a-b]))*?[\x{0}-b` + `d-\x{10ffff}]`},
		{`x{2,}y{3}`, `(?:x){2,}(?:y){3,3}`},
		{`\Q.*\E`, `\x{2e}\x{2a}`},
		{``, `(?:)`},
	}
	for _, test := range tests {
		p, err := javaPattern(test.pattern)
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
		} else if p.text != test.want {
			t.Errorf("%q: got %s, want %s", test.pattern, p.text, test.want)
		}
	}
	if _, err := javaPattern(`(a`); err == nil {
		t.Error("a parenthesis that is not closed was taken")
	}
	p, err := javaPattern(`(a(b))(c)?(?:(d)|e)`)
	if err != nil || p.groups != 4 || p.optional[1] || p.optional[2] || !p.optional[3] || !p.optional[4] {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestDatePattern: layouts become Spark's patterns.
func TestDatePattern(t *testing.T) {
	tests := []struct{ layout, want string }{
		{"2006-01-02T15:04:05.000Z07:00", "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'SSS'Z'"},
		{"Monday, January 2 2006, 3:04PM", "EEEE', 'MMMM' 'd' 'yyyy', 'h':'mma"},
		{"02/01/06 -0700 MST", "dd'/'MM'/'yy' +0000 UTC'"},
		{"o'clock", "'o''clock'"},
		{"002", "DDD"},
	}
	for _, test := range tests {
		if got, err := datePattern(test.layout); err != nil || got != test.want {
			t.Errorf("%q: got %s, %v, want %s", test.layout, got, err, test.want)
		}
	}
}
