package spark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cancha/internal/lastwill"
	"cancha/spark/internal/connect"
)

// remembered is the file of an open session, by which another process finds what this one leaves on the server when it is killed: a session keeps
// executors, views, models and running queries there, for an hour after it was used last, and for ever while a query runs. In an engine a process
// beside it releases the session (lastwill), and removes the file; the file is for when that one was killed too, or could not reach the server, and
// for programs that are no engines. It has no token. It is the user's alone, in <cache>/cancha/spark/<session>.json.
type remembered struct {
	path string

	Machine string    `json:"machine"` // its name: process numbers mean nothing elsewhere
	Master  string    `json:"master"`  // host:port
	Session string    `json:"session"`
	User    string    `json:"user"`
	Engine  process   `json:"engine"`
	Kernel  process   `json:"kernel"` // its parent
	Begun   time.Time `json:"begun"`
}

// process is a process by its number and by when it began: numbers are used again.
type process struct {
	PID   int    `json:"pid"`
	Began string `json:"began"` // in words of the system's; empty where it does not tell
}

// patience is how long releasing a session may take.
const patience = 5 * time.Second

// stale is from when on a file is removed, whoever wrote it: a server has let go of such a session long ago, unless a query runs in it that somebody
// wants.
const stale = 30 * 24 * time.Hour

// remember writes the session's file, and has what dead processes have left released in the background. A file that cannot be written is logged: the
// session works without.
func (s *Session) remember(t connect.Target) {
	folder, err := sessionsFolder()
	if err == nil {
		s.remembered, err = write(folder, s.ID(), t)
	}
	if err != nil {
		s.config.Logger.Warn("spark: the session is not remembered: what it leaves there if this process is killed, no later one releases", "err", err)
	}
	s.leaveWill()
	if folder == "" {
		return
	}
	s.background.Go(func() {
		ctx, stop := context.WithTimeout(s.ctx, patience)
		defer stop()
		s.releaseDead(ctx, folder, t)
	})
}

// leaveWill has the session released when this process has ended, however it did.
func (s *Session) leaveWill() {
	var file string
	if s.remembered != nil {
		file = s.remembered.path
	}
	will, err := s.client.Will(file)
	if err == nil {
		err = lastwill.Process().Leave(s.ID(), will)
	}
	if err != nil && !errors.Is(err, lastwill.ErrNobody) {
		s.config.Logger.Warn("spark: if this process is killed, its session stays until the next Connect", "err", err)
	}
}

func sessionsFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "cancha", "spark")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return folder, nil
}

// write makes the file of a session of this process.
func write(folder, session string, t connect.Target) (*remembered, error) {
	machine, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	r := &remembered{path: filepath.Join(folder, session+".json"), Machine: machine, Master: place(t), Session: session, User: t.UserID,
		Engine: processOf(os.Getpid()), Kernel: processOf(os.Getppid()), Begun: time.Now().UTC()}
	return r, r.save()
}

// save writes the file, whole or not at all.
func (r *remembered) save() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	part := r.path + ".part"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, r.path)
}

// forget removes the file; nil has none.
func (r *remembered) forget() {
	if r != nil {
		os.Remove(r.path) // one that stays is found dead later, and its session gone
	}
}

// leave notes that nobody here will release the session: its server could not be reached. Any session that is made later does.
func (r *remembered) leave() {
	if r != nil {
		r.Engine.Began = left
		r.save() // without, it is found dead when this process is
	}
}

// left stands for when a process began that has given its session up.
const left = "left"

func processOf(pid int) process {
	began, _ := startOf(pid)
	return process{pid, began}
}

// lives tells whether the process is still there, and is the same one. One of which the system does not tell enough counts as living.
func (p process) lives() bool {
	began, there := startOf(p.PID)
	return there && (p.Began == "" || began == "" || began == p.Began)
}

// releaseDead releases the sessions of this user that dead processes of this machine have left on the server, and removes their files.
func (s *Session) releaseDead(ctx context.Context, folder string, t connect.Target) {
	for _, r := range deadIn(folder, place(t), t.UserID) {
		err := release(ctx, t, r.Session)
		if err != nil {
			s.config.Logger.Warn("spark: a session that a killed process has left is not released", "session", r.Session, "err", err)
			continue
		}
		r.forget()
		s.config.Logger.Info("spark: released a session that a killed process had left", "session", r.Session, "begun", r.Begun)
	}
}

// deadIn reads the files of sessions whose processes are dead. Files of other machines and of other servers are left alone, and damaged and stale
// ones removed.
func deadIn(folder, master, user string) []*remembered {
	machine, err := os.Hostname()
	if err != nil {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.json")) // the pattern is right
	var dead []*remembered
	for _, path := range paths {
		r, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process was faster
		case err != nil || time.Since(r.Begun) > stale && !r.Engine.lives():
			os.Remove(path)
		case r.Machine == machine && r.Master == master && r.User == user && !r.Engine.lives():
			dead = append(dead, r)
		}
	}
	return dead
}

func read(path string) (*remembered, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &remembered{path: path}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if r.Session == "" || r.Engine.PID <= 0 || r.Session != strings.TrimSuffix(filepath.Base(path), ".json") {
		return nil, fmt.Errorf("%s is no file of a session", path)
	}
	return r, nil
}

// release ends a session of another process. One that the server does not know any more is released.
func release(ctx context.Context, t connect.Target, session string) error {
	t.SessionID = session
	c, err := connect.Dial(ctx, t)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Release(ctx); err != nil && !gone(err) {
		return err
	}
	return nil
}

// gone tells of an error that says that there is no such session.
func gone(err error) bool {
	var e *connect.Error
	return errors.As(err, &e) && strings.HasPrefix(e.Class, "INVALID_HANDLE.SESSION")
}
