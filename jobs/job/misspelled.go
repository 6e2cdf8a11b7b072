package job

import "strings"

// Misspelled returns the one of the known names that a name is most likely meant to be, where it is none of them: it differs by two letters
// at most, which are missing, too many, others or exchanged, or by signs and case alone. What begins with a known name is a name of its own
// ("matrix_multiply_2"), and so is a short one. "": none.
func Misspelled(name string, known []string) (meant string) {
	least := 3
	for _, k := range known {
		if strings.HasPrefix(name, k) {
			return ""
		}
		if d := distance(plain(name), plain(k), least); d < least && len(plain(k)) > 3*d {
			meant, least = k, d
		}
	}
	return meant
}

// plain is a name without what is often written otherwise.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}

// distance is by how many steps one text becomes another, each a letter that is put in, taken out, replaced, or exchanged with its
// neighbour: optimal string alignment, after Damerau (1964). From most on it says most.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			now[j] = min(last[j]+1, now[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return min(last[len(b)], most)
}
