//go:build !unix

package main

import "errors"

func usage() (seconds float64, resident int64, err error) {
	return 0, 0, errors.New("this system does not tell what a process has used")
}
