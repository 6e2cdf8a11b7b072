//go:build !linux

package primitive

import (
	"os/exec"
	"strconv"
	"strings"
)

// processes lists the processes that there are.
func processes() (all []process) {
	text, err := exec.Command("ps", "-axo", "pid=,ppid=,stat=,lstart=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.HasPrefix(fields[2], "Z") {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		if err == nil && err2 == nil {
			all = append(all, process{pid, parent, strings.Join(fields[3:], " ")})
		}
	}
	return all
}
