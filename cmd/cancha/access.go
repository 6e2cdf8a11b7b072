//go:build !windows

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"cancha/internal/secret"
	"cancha/jobs/folder"
	"cancha/jobs/local"
)

// pageOff is the address of no page, and tokenFile where a folder has the page's token.
const (
	pageOff   = "off"
	tokenFile = "token"
)

// token is what whoever asks the page has to show, and where a person finds it.
func (o schedulerOptions) token() (token, where string, err error) {
	if token := os.Getenv(jobsTokenVariable); token != "" {
		return token, "$" + jobsTokenVariable, nil
	}
	token, where, err = secret.File(o.folder, tokenFile)
	if err != nil {
		err = fmt.Errorf("%w (or set $%s, or -http off)", err, jobsTokenVariable)
	}
	return token, where, err
}

// checkFiles looks whether the folder of files is there: a worker without it would fail each job of those types.
func (o workerOptions) checkFiles() error {
	if o.files == "" {
		return nil
	}
	f, err := folder.Open(o.files)
	if err != nil {
		return fmt.Errorf("-folder: %w", err)
	}
	for _, own := range o.own {
		if _, failed := own.job(f); failed != nil {
			err = errors.Join(err, fmt.Errorf("-func %w", failed))
		}
	}
	return errors.Join(err, f.Close())
}

// checkOwner tells where the jobs of this machine are another user's, who would have what lies in the folder run as this one. Root's
// are everybody's to run, since root can do so anyway.
func (o workerOptions) checkOwner(uid int) error {
	if o.files == "" || o.folder == "" {
		return nil
	}
	for _, path := range []string{o.folder, strings.TrimPrefix(local.Socket(o.folder), "unix:")} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		stat, known := info.Sys().(*syscall.Stat_t)
		if known && int(stat.Uid) != uid && stat.Uid != 0 {
			return fmt.Errorf("-folder %s: %s is user %d's, who would have things run there as user %d; start the worker as that user, or give another -jobs",
				o.files, path, stat.Uid, uid)
		}
	}
	return nil
}
