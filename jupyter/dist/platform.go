package main

import (
	"fmt"
	"slices"
	"strings"
)

// platform is what a package is built for.
type platform struct {
	os, arch string   // as Go names them
	tags     []string // as wheels name them
}

func (p platform) String() string { return p.os + "/" + p.arch }

// platforms lists all of them. A program without C asks nothing of a C library, so one wheel serves glibc and musl, from the oldest
// that pip has a name for; of macOS it asks the oldest version that Go supports.
func platforms() []platform {
	return []platform{
		{"linux", "amd64", []string{"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"}},
		{"linux", "arm64", []string{"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"}},
		{"darwin", "amd64", []string{"macosx_12_0_x86_64"}},
		{"darwin", "arm64", []string{"macosx_12_0_arm64"}},
	}
}

// choose returns the platforms of these names, all where there are none.
func choose(names []string) ([]platform, error) {
	all := platforms()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []platform
	for _, name := range names {
		i := slices.IndexFunc(all, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no platform %q; there are %s", name, strings.Trim(fmt.Sprint(all), "[]"))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
