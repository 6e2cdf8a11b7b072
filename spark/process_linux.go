package spark

import (
	"os"
	"strconv"
	"strings"
)

// startOf tells when a process began: in ticks since the machine was started, behind the number of that start. One that has ended, and whose parent
// has not asked yet how, is not there.
func startOf(pid int) (began string, there bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", !os.IsNotExist(err)
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:]) // the name in front may have any character
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without, a process of an earlier start could be taken for this one
	return strings.TrimSpace(string(boot)) + "/" + fields[19], true
}
