package primitive

import (
	"os"
	"strconv"
	"strings"
)

// processes lists the processes that there are.
func processes() (all []process) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:]) // the name in front may have any character
		fields := strings.Fields(rest)
		if len(fields) < 20 || fields[0] == "Z" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		all = append(all, process{pid, parent, fields[19]})
	}
	return all
}
