//go:build !windows

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"cancha/cmd/internal/own"
	"cancha/internal/secret"
	"cancha/jobs"
	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/operation"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
	"cancha/jobs/server"
	"cancha/jobs/worker"
	"cancha/runtime/gpu"
)

// The environment of the job system. Those without CANCHA are the contract's. RABBITMQ_PORT, _USER, _PASS and _VHOST belong to RABBITMQ_HOST.
const (
	jobsVariable       = "CANCHA_JOBS"       // folder of the jobs of this machine, or of what a scheduler keeps
	rabbitVariable     = "RABBITMQ_HOST"     // of the RabbitMQ that has the jobs; empty: this machine has them
	jobsHTTPVariable   = "CANCHA_JOBS_HTTP"  // where the scheduler's page and API listen
	jobsTokenVariable  = "CANCHA_JOBS_TOKEN" // that whoever asks the scheduler's page has to show
	workerTypeVariable = "WORKER_TYPE"
	workerIDVariable   = "WORKER_ID"
)

// jobsFlag is the folder of jobs, as all commands have it.
func jobsFlag(flags *flag.FlagSet) *string {
	return flags.String("jobs", "", "`folder` of the jobs of this machine (default $"+jobsVariable+", or cancha/jobs in the user's cache folder); where $"+rabbitVariable+
		" names a RabbitMQ the jobs are there")
}

// jobsFolder is the folder that was asked for.
func jobsFolder(said string) (string, error) {
	if said != "" {
		return said, nil
	}
	return jobs.Folder()
}

// jobsPlace is the folder of the local jobs; "": they are at the RabbitMQ of the environment. Both at once is asked for by mistake.
func jobsPlace(flags *flag.FlagSet, said string) (string, error) {
	host := os.Getenv(rabbitVariable)
	switch {
	case host == "":
		return jobsFolder(said)
	case said != "":
		return "", usageError{flags.Name(), fmt.Errorf("-jobs %s is a folder, and $%s says that the jobs are at %s: leave out one of both", said, rabbitVariable, host)}
	}
	return "", nil
}

// jobsLog is told what becomes of connections, schedulers and workers.
func jobsLog() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

// schedulerOptions is what "cancha scheduler" is asked for.
type schedulerOptions struct {
	folder, address string
	settings        scheduler.Settings
}

func parseScheduler(args []string) (o schedulerOptions, err error) {
	flags := newFlags("scheduler", "", "Takes jobs in, decides where they run, and sees each to its end, until it is ended. Workers run them (cancha worker).\n"+
		"Where another process is the scheduler, it waits, and takes its place when that ends.\n"+
		"With $"+rabbitVariable+" (and RABBITMQ_PORT, _USER, _PASS, _VHOST) the jobs come through that RabbitMQ, and the folder keeps them.")
	said := jobsFlag(flags)
	flags.StringVar(&o.address, "http", cmp.Or(os.Getenv(jobsHTTPVariable), server.DefaultAddress), "`host:port` of the page, the API and the metrics (default $"+jobsHTTPVariable+
		"); off is none. Whoever asks needs the token: that of $"+jobsTokenVariable+", or the one in the folder's file "+tokenFile+", which is its user's alone")
	flags.DurationVar(&o.settings.Lease, "lease", 10*time.Second, "for how long a worker may be silent, as a `duration`, before its jobs are given to others")
	flags.DurationVar(&o.settings.Grace, "grace", 30*time.Second, "for how long an attempt may go on after its timeout, as a `duration`, before it ends whatever its worker does")
	if err := parseAll(flags, args); err != nil {
		return o, err
	}
	if token := os.Getenv(jobsTokenVariable); token != "" && o.address != pageOff {
		if err := secret.Check(token); err != nil {
			return o, usageError{"scheduler", fmt.Errorf("$%s: %w", jobsTokenVariable, err)}
		}
	}
	o.folder, err = jobsFolder(*said)
	return o, err
}

// runScheduler has the jobs of a folder, or of a RabbitMQ, until ctx ends.
func runScheduler(ctx context.Context, args []string) error {
	o, err := parseScheduler(args)
	if err != nil {
		return err
	}
	b, err := jobs.Remote(ctx, "cancha scheduler", jobsLog())
	if err != nil {
		return err
	}
	err = o.schedule(ctx, b)
	if b != nil {
		err = errors.Join(err, b.Close())
	}
	return err
}

// schedule schedules the jobs of a broker; nil: of the folder alone.
func (o schedulerOptions) schedule(ctx context.Context, b queue.Broker) error {
	k, err := jobs.Open(ctx, jobs.Config{Folder: o.folder, Broker: b, Schedule: b != nil, NoWorkers: true, Settings: o.settings, Logger: jobsLog()})
	if err != nil {
		return err
	}
	switch err := k.Standby(); {
	case errors.Is(err, scheduler.ErrLed):
		fmt.Printf("another scheduler has the jobs of this RabbitMQ, in a folder of its own; this one waits, and takes those that come when that has ended (%v)\n", err)
	case k.Scheduler() == nil:
		fmt.Printf("another process is the scheduler of %s; this one waits, and takes its place when it has ended\n", o.folder)
	}
	if _, err := k.Lead(ctx); err != nil {
		return k.Close() // it was asked to end
	}
	if b != nil {
		fmt.Printf("scheduler of the RabbitMQ at %s; it keeps jobs in %s\n", os.Getenv(rabbitVariable), o.folder)
	} else {
		fmt.Printf("scheduler of %s; workers and programs reach it with %s=%s\n", o.folder, jobsVariable, o.folder)
	}
	return errors.Join(o.show(ctx, k), k.Close())
}

// show serves the page and the API until ctx or the scheduler ends.
func (o schedulerOptions) show(ctx context.Context, k *jobs.Cluster) error {
	if o.address != pageOff {
		token, where, err := o.token()
		if err != nil {
			return err
		}
		s, err := server.Start(ctx, server.Config{Scheduler: k.Scheduler(), Broker: k.Broker(), Address: o.address, Token: token, Version: own.Version, Logger: jobsLog()})
		if err != nil {
			return fmt.Errorf("%w (-http HOST:PORT; off is none)", err)
		}
		defer s.Close()
		if terminal(os.Stdout) {
			fmt.Println("page, API and metrics:", s.URL())
		} else { // a log is read by others
			fmt.Printf("page, API and metrics: %s, with the token in %s\n", s.Address(), where)
		}
	}
	select {
	case <-ctx.Done():
		return nil
	case <-k.Scheduler().Done():
		return errors.New("it has ended: " + k.Scheduler().Trouble())
	}
}

// workerOptions is what "cancha worker" is asked for.
type workerOptions struct {
	folder   string // "": the RabbitMQ of the environment
	kind, id string
	files    string // folder for jobs that have to do with files; "": none are run
	own      ownTypes
	slots    int
	drain    time.Duration
	grace    time.Duration
}

func runWorker(ctx context.Context, args []string) error {
	o, err := parseWorker(args)
	if err != nil {
		return err
	}
	if err := o.checkFiles(); err != nil {
		return err
	}
	s, self, err := o.session(ctx)
	if err != nil {
		return err
	}
	b, err := waitForJobs(ctx, o.folder, strings.TrimSpace("cancha worker "+o.id))
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if err := o.checkOwner(os.Geteuid()); err != nil {
		return errors.Join(err, b.Close(), s.Close())
	}
	err = o.work(ctx, b, self, s)
	if errors.Is(err, errStuck) { // what is stuck may use the device, which is not waited for
		return errors.Join(err, b.Close(), worker.Restart())
	}
	return errors.Join(err, b.Close(), s.Close())
}

func parseWorker(args []string) (o workerOptions, err error) {
	flags := newFlags("worker", "", `Runs jobs until it is ended. SIGTERM or ^C: it takes no more, and ends when those that run have ended; what has not ended by then
comes again elsewhere. When all its slots have jobs that do not end though nobody wants them any more, it starts itself anew. It waits for a scheduler to be there (cancha scheduler, or a notebook that has opened the folder), or for the RabbitMQ that
$RABBITMQ_HOST names.`)
	said := jobsFlag(flags)
	flags.StringVar(&o.kind, "type", cmp.Or(os.Getenv(workerTypeVariable), "cpu"), "`cpu or gpu`: what its jobs run on (default $"+workerTypeVariable+")")
	flags.StringVar(&o.id, "id", os.Getenv(workerIDVariable), "`name` of the worker, of which there is one (default $"+workerIDVariable+", or the host's name and the process's number)")
	flags.StringVar(&o.files, "folder", "", "`folder` whose files jobs of these types use, and no others: "+strings.Join(fileTypes(), ", ")+
		"; without it none are run.\nWho may submit runs what lies there, with literals as parameters, and reads what it gives back; a job replaces only what jobs have written")
	flags.Var(&o.own, "func", "a job type of your own, `NAME=MODULE.Function` or NAME=MODULE/PACKAGE.Function: an exported function of a Go module in the -folder, whose argument\nis the job's parameters; may be given again")
	flags.IntVar(&o.slots, "slots", 1, "`jobs` that run at a time, on a CPU; one GPU runs one")
	flags.DurationVar(&o.drain, "drain", time.Minute, "for how long it waits at its end, as a `duration`, for those that run")
	flags.DurationVar(&o.grace, "grace", 20*time.Second, "for how long a job may go on, as a `duration`, after its timeout or its cancelling; then its slot counts as stuck")
	if err := parseAll(flags, args); err != nil {
		return o, err
	}
	switch {
	case o.grace <= 0:
		return o, usageError{"worker", fmt.Errorf("-grace %v: it is above 0", o.grace)}
	case o.kind != string(placement.CPU) && o.kind != string(placement.GPU):
		return o, usageError{"worker", fmt.Errorf("-type (or $%s) %q: it is cpu or gpu", workerTypeVariable, o.kind)}
	case o.slots < 1 || o.slots > 1 && o.kind == string(placement.GPU):
		return o, usageError{"worker", fmt.Errorf("-slots %d: 1 or more on a CPU, 1 on a GPU", o.slots)}
	case !utf8.ValidString(o.id) || strings.ContainsFunc(o.id, unicode.IsControl):
		return o, usageError{"worker", fmt.Errorf("-id (or $%s) %.100q has control characters, such as the end of a line", workerIDVariable, o.id)}
	}
	if len(o.own) > 0 && o.files == "" {
		return o, usageError{"worker", errors.New("-func names functions of modules in the -folder, and there is none")}
	}
	o.folder, err = jobsPlace(flags, *said)
	return o, err
}

// session opens the device.
func (o workerOptions) session(ctx context.Context) (*gpu.Session, placement.Worker, error) {
	self := placement.Worker{ID: o.id, Device: placement.Device(o.kind), Slots: o.slots}
	c := gpu.Config{Device: gpu.CPU, Concurrent: o.slots}
	if self.Device == placement.GPU {
		c = gpu.Config{Device: gpu.GPU, Required: true}
	}
	s, err := gpu.NewSession(ctx, c)
	if err != nil {
		return nil, self, err
	}
	about, device := s.Devices()
	switch {
	case device != nil:
		about, self.Memory = *device, float64(device.Memory)
	default: // a job that asks for more would end the worker, and what runs beside it
		total, err := memoryOf(os.DirFS("/"))
		if err != nil {
			return nil, self, errors.Join(err, s.Close())
		}
		self.Memory = jobs.ShareOfMemory * float64(total) / float64(o.slots)
	}
	self.Model = about.Name
	return s, self, nil
}

// waitForJobs waits until a process serves a folder, or where that is "" until RabbitMQ is there.
func waitForJobs(ctx context.Context, folder, name string) (queue.Broker, error) {
	if folder == "" {
		return jobs.Remote(ctx, name, jobsLog())
	}
	for told := false; ; told = true {
		b, err := local.Dial(ctx, local.Socket(folder), "")
		if err == nil {
			return b, nil
		}
		if !told {
			fmt.Fprintf(os.Stderr, "waiting for a scheduler of %s: %v\n", folder, err)
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("no scheduler of %s has come: %w", folder, err)
		}
	}
}

// folderFuncs are the functions of jobs that use a folder's files.
func folderFuncs(folder string, s *gpu.Session) map[string]worker.Func {
	return map[string]worker.Func{
		notebookType: notebooksIn(folder), queryType: queriesIn(folder), functionType: functionsIn(folder), operation.ForestFit: operation.Forests(folder, s),
	}
}

// fileTypes are the types of those.
func fileTypes() []string { return slices.Sorted(maps.Keys(folderFuncs("", nil))) }

// errStuck tells that each slot of a worker has a job that does not end.
var errStuck = errors.New("all its slots have jobs that do not end though nobody wants them any more; it starts anew")

func (o workerOptions) work(ctx context.Context, b queue.Broker, self placement.Worker, s *gpu.Session) error {
	funcs := operation.Funcs(s)
	if o.files != "" {
		maps.Copy(funcs, folderFuncs(o.files, s))
		maps.Copy(funcs, o.own.funcs(o.files))
	}
	if self.Device == placement.CPU {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		apart{program, o.files, o.slots}.put(funcs)
	}
	w, err := worker.Start(ctx, worker.Config{Broker: b, Worker: self, Funcs: funcs, Grace: o.grace, Replaced: true, Logger: jobsLog()})
	if err != nil {
		return err
	}
	fmt.Printf("worker %s on the %s, %s\n", w.ID(), o.kind, self.Model)
	select {
	case <-ctx.Done():
	case <-w.Done():
		return errors.Join(w.Err(), w.Close())
	case <-w.Stuck():
		fmt.Printf("worker %s: %v\n", w.ID(), errStuck)
		return errors.Join(errStuck, w.Close())
	}
	last, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), o.drain, fmt.Errorf("jobs still ran after %v; they come again elsewhere", o.drain))
	defer cancel()
	return errors.Join(w.Drain(last), w.Close())
}

// runJob does one thing with jobs.
func runJob(ctx context.Context, args []string) error {
	verbs := map[string]func(context.Context, []string) error{"submit": runSubmit, "list": runList, "show": runShow, "cancel": runCancel, "replay": runReplay,
		"workers": runWorkers}
	if len(args) == 0 || verbs[args[0]] == nil {
		if len(args) > 0 && strings.HasPrefix(args[0], "-") && strings.TrimLeft(args[0], "-") == "h" {
			fmt.Println("usage: cancha job submit|list|show|cancel|replay|workers [flags] [JOB]\n\nDoes something with jobs; \"cancha job submit -h\" tells what that takes.")
			return flag.ErrHelp
		}
		return usageError{"job", errors.New("say what to do: submit, list, show, cancel, replay or workers")}
	}
	return verbs[args[0]](ctx, args[1:])
}

// jobsPatience is for how long a command waits for RabbitMQ, and for a scheduler's answer.
const jobsPatience = 15 * time.Second

// withJobs does something with the jobs that another process has, in a folder or, where that is "", at the RabbitMQ of the environment. forget is for how long an
// answer is kept while the connection is broken; 0: an hour.
func withJobs(ctx context.Context, folder string, forget time.Duration, do func(*jobs.Cluster) error) error {
	b, err := dialJobs(ctx, folder)
	if err != nil {
		return err
	}
	k, err := jobs.Open(ctx, jobs.Config{Broker: b, Forget: forget})
	if err == nil {
		err = errors.Join(do(k), k.Close())
	}
	return errors.Join(err, b.Close())
}

func dialJobs(ctx context.Context, folder string) (queue.Broker, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, jobsPatience, fmt.Errorf("it has not answered for %v", jobsPatience))
	defer cancel()
	if folder == "" {
		return jobs.Remote(ctx, "cancha", nil)
	}
	b, err := local.Dial(ctx, local.Socket(folder), "")
	if err != nil {
		return nil, fmt.Errorf("no process serves the jobs of %s; start one: cancha scheduler: %w", folder, err)
	}
	return b, nil
}

// askJobs is withJobs for a question, whose answer it waits for as long as jobsPatience says.
func askJobs(ctx context.Context, folder string, ask func(context.Context, *jobs.Cluster) error) error {
	return withJobs(ctx, folder, time.Minute, func(k *jobs.Cluster) error { // health checks ask four times a minute
		ctx, cancel := context.WithTimeoutCause(ctx, jobsPatience, fmt.Errorf("nothing has come for %v", jobsPatience))
		defer cancel()
		return ask(ctx, k)
	})
}

// jsonParameters are parameters of the command line as JSON: numbers, true, lists as they are, all else a text.
func jsonParameters(p parameters) json.RawMessage {
	all := jobs.Parameters{}
	for name, text := range p {
		if json.Valid([]byte(text)) {
			all[name] = json.RawMessage(text)
		} else {
			all[name] = text
		}
	}
	return all.JSON()
}

// listOptions is what "cancha job list" is asked for.
type listOptions struct {
	folder string // "": the RabbitMQ of the environment
	query  jobs.Query
}

func parseList(args []string) (o listOptions, err error) {
	flags := newFlags("job list", "", "Lists jobs, the last that came first.")
	said, state := jobsFlag(flags), flags.String("state", "", "only those in a `state`: "+fmt.Sprint(job.States()))
	flags.StringVar(&o.query.Type, "type", "", "only those of a `job type`")
	flags.IntVar(&o.query.Limit, "n", 20, "`how many`")
	if err := parseAll(flags, args); err != nil {
		return o, err
	}
	if o.query.Limit < 1 {
		return o, usageError{"job list", fmt.Errorf("-n %d: it is from 1", o.query.Limit)}
	}
	if *state != "" {
		o.query.States = []jobs.State{jobs.State(*state)}
		if !o.query.States[0].Known() {
			return o, usageError{"job list", fmt.Errorf("-state %q: it is one of %v", *state, job.States())}
		}
	}
	o.folder, err = jobsPlace(flags, *said)
	return o, err
}

func runList(ctx context.Context, args []string) error {
	o, err := parseList(args)
	if err != nil {
		return err
	}
	return askJobs(ctx, o.folder, func(ctx context.Context, k *jobs.Cluster) error {
		all, more, err := k.Jobs(ctx, o.query)
		if err != nil {
			return err
		}
		return list(os.Stdout, all, more, time.Now())
	})
}

func list(w io.Writer, all []*jobs.Job, more bool, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tTYPE\tSTATE\tWORKER\tAGE\tRAN\tWHY")
	for _, j := range all {
		why := j.Reason
		if j.Error != "" && j.State != job.Completed {
			why = j.Error
		}
		state := string(j.State)
		if j.State == job.Running && j.Progress > 0 {
			state = fmt.Sprintf("%s, %.0f %%", state, 100*j.Progress)
		}
		first, _, _ := strings.Cut(why, "\n")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%v\t%s\t%.100s\n", j.ID, j.Type, state, j.Worker, now.Sub(j.Submitted).Round(time.Second), placement.Seconds(j.Ran), first)
	}
	if more {
		fmt.Fprintln(t, "…")
	}
	return t.Flush()
}

func runShow(ctx context.Context, args []string) error {
	return eachJob(ctx, "show", "Shows jobs as JSON, with all that is known of them, under the names that the API has.", args, func(ctx context.Context, k *jobs.Cluster, id string) error {
		j, err := k.Job(ctx, id)
		if err != nil {
			return err
		}
		text, err := server.JobJSON(j, time.Now())
		if err == nil {
			_, err = fmt.Printf("%s\n", text)
		}
		return err
	})
}

func runCancel(ctx context.Context, args []string) error {
	return eachJob(ctx, "cancel", "Ends jobs that have not ended, wherever they are.", args, func(ctx context.Context, k *jobs.Cluster, id string) error { return k.Cancel(ctx, id) })
}

func runReplay(ctx context.Context, args []string) error {
	return eachJob(ctx, "replay", "Tries dead jobs again.", args, func(ctx context.Context, k *jobs.Cluster, id string) error { return k.Replay(ctx, id) })
}

// eachJob does something with each job that is named, and goes on with the others where that fails.
func eachJob(ctx context.Context, verb, about string, args []string, do func(context.Context, *jobs.Cluster, string) error) error {
	flags := newFlags("job "+verb, " JOB…", about)
	said := jobsFlag(flags)
	ids, err := parseMixed(flags, args)
	if err == nil && len(ids) == 0 {
		err = usageError{"job " + verb, errors.New("name a job")}
	}
	folder := ""
	if err == nil {
		folder, err = jobsPlace(flags, *said)
	}
	if err != nil {
		return err
	}
	return askJobs(ctx, folder, func(ctx context.Context, k *jobs.Cluster) (err error) {
		for _, id := range ids {
			err = errors.Join(err, do(ctx, k, id))
		}
		return err
	})
}
