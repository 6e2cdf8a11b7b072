//go:build !linux

package main

import "errors"

// measure is not possible here: the most memory of a step is read from /proc.
func measure(func() error) (s step, err error) {
	return s, errors.New("memory and processor time are measured on Linux; run this there")
}
