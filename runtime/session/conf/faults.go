package conf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is something in a file that will not do what it looks like.
type Fault struct {
	Setting        // where; Line is 0 where it is about what the file does not say
	What    string // what is wrong
	Mend    string // what to write
	Warning bool   // it may be as it is wanted
}

// Machine is where the driver and the executors of a cluster of one machine run. Of the zero value nothing is known.
type Machine struct {
	Memory    int64 // bytes; 0 where it is not known
	GPUs      int   // counts with GPUsKnown only
	GPUsKnown bool
}

// Faults returns what contradicts itself in a file, and what it promises that the machine does not have, in the file's order.
func (f *File) Faults(m Machine) []Fault {
	s, faults := f.Spark()
	faults = append(faults, f.repeated()...)
	faults = append(faults, f.misspelt()...)
	for _, check := range []func(Machine) []Fault{s.withoutPlugin, s.rapidsResource, s.workerResource, s.amounts, s.leftover, s.sharing, s.manyExecutors, s.noExecutor, s.memory, s.offHeap, s.pinned} {
		faults = append(faults, check(m)...)
	}
	faults = append(faults, s.versions(f)...)
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return faults
}

// repeated finds settings that a later line replaces.
func (f *File) repeated() (faults []Fault) {
	for _, s := range f.Settings {
		if last, _ := f.Get(s.Key); last.Line != s.Line {
			faults = append(faults, Fault{Setting: s, Warning: true,
				What: fmt.Sprintf("line %d says %s %s, and the later one counts", last.Line, last.Key, last.Value), Mend: "leave one of them out"})
		}
	}
	return faults
}

// at is where a setting stands, the first of those that the file has.
func (s Spark) at(keys ...string) Setting {
	for _, key := range keys {
		if found, ok := s.said[key]; ok {
			return found
		}
	}
	return Setting{Key: keys[0]}
}

// Said returns the first of some settings that the file has, with a value that Spark takes.
func (s Spark) Said(keys ...string) (Setting, bool) {
	found := s.at(keys...)
	return found, found.Line > 0
}

// standalone tells a cluster with Spark's own master, which a file that names none is taken to be for.
func (s Spark) standalone() bool { return s.Master == "" || strings.HasPrefix(s.Master, "spark://") }

// local tells that all runs in the driver.
func (s Spark) local() bool {
	return strings.HasPrefix(s.Master, "local") && !strings.HasPrefix(s.Master, "local-cluster")
}

// gpus is how many GPUs there are for executors, if that is known. Only a standalone master heeds what workers offer.
func (s Spark) gpus(m Machine) (n int, known bool) {
	if m.GPUsKnown && (s.WorkerGPUs == 0 || !s.standalone()) {
		return m.GPUs, true
	}
	return s.WorkerGPUs, s.WorkerGPUs > 0
}

// withoutPlugin: what switches RAPIDS on does not load it.
func (s Spark) withoutPlugin(Machine) []Fault {
	if _, said := s.Said(RAPIDSEnabled); !said || !s.Enabled || s.Plugin {
		return nil
	}
	return []Fault{{Setting: s.at(RAPIDSEnabled), Warning: true, What: "nothing loads the RAPIDS plugin: queries run on the CPU", Mend: Plugins + " " + RAPIDSPlugin}}
}

// rapidsResource: RAPIDS needs a GPU in the driver where that does all, else in the executors.
func (s Spark) rapidsResource(m Machine) []Fault {
	at, off := s.at(Plugins), RAPIDSEnabled+" false"
	switch {
	case !s.RAPIDS() || s.ExecutorGPUs > 0 || s.local() && m.GPUs > 0:
		return nil
	case s.local() && m.GPUsKnown:
		return []Fault{{Setting: at, What: "RAPIDS is on, and there is no GPU for it on the machine", Mend: off}}
	case s.local():
		return []Fault{{Setting: at, Warning: true, What: "RAPIDS is on, and whether the machine has a GPU for it is not known", Mend: off + " where there is none"}}
	case s.standalone() && s.WorkerGPUs == 0:
		return []Fault{{Setting: at, What: "RAPIDS is on, and there is no GPU for it: no setting gives an executor one",
			Mend: fmt.Sprintf("%s 1 and %s 1 where there is a GPU, or %s", WorkerGPUs, ExecutorGPUs, off)}}
	case s.standalone():
		return []Fault{{Setting: at, What: "RAPIDS is on, and executors ask for no GPU", Mend: ExecutorGPUs + " 1"}}
	}
	return []Fault{{Setting: at, What: "RAPIDS is on, and executors ask for no GPU",
		Mend: fmt.Sprintf("%s 1 and %s FILE where there is a GPU, or %s", ExecutorGPUs, executorDiscovery, off)}}
}

// workerResource: under a standalone master, who asks for GPUs needs workers that offer them.
func (s Spark) workerResource(Machine) []Fault {
	switch {
	case !s.standalone() || s.RAPIDS() && s.ExecutorGPUs == 0:
		return nil
	case s.ExecutorGPUs > s.WorkerGPUs && s.WorkerGPUs == 0:
		return []Fault{{Setting: s.at(ExecutorGPUs), What: fmt.Sprintf("executors ask for %d GPU, and no worker offers one: none is ever started", s.ExecutorGPUs),
			Mend: fmt.Sprintf("%s 1 and %s FILE, on the workers", WorkerGPUs, WorkerDiscovery)}}
	case s.ExecutorGPUs > s.WorkerGPUs:
		return []Fault{{Setting: s.at(ExecutorGPUs), What: fmt.Sprintf("an executor asks for %d GPUs, and a worker offers %d: none is ever started", s.ExecutorGPUs, s.WorkerGPUs),
			Mend: fmt.Sprintf("%s %d", ExecutorGPUs, s.WorkerGPUs)}}
	case s.WorkerGPUs > 0 && s.at(WorkerDiscovery).Line == 0:
		return []Fault{{Setting: s.at(WorkerGPUs), Warning: true, What: "nothing tells a worker which GPUs it has",
			Mend: WorkerDiscovery + ` FILE, a program that prints {"name":"gpu","addresses":["0"]}`}}
	}
	return nil
}

// amounts: what a task may take of a GPU.
func (s Spark) amounts(Machine) []Fault {
	at := s.at(TaskGPUs)
	switch t := s.TaskGPUs; {
	case t > s.largestShare && t != float64(int(t)):
		return []Fault{{Setting: at, What: fmt.Sprintf("Spark takes at most %v, or a whole number, and refuses %v", s.largestShare, t), Mend: TaskGPUs + " 1"}}
	case t > 0 && s.ExecutorGPUs == 0:
		return []Fault{{Setting: at, What: "tasks ask for a GPU, and executors have none", Mend: ExecutorGPUs + " 1"}}
	case t > float64(s.ExecutorGPUs):
		return []Fault{{Setting: at, What: fmt.Sprintf("a task asks for %v GPUs, and an executor has %d: no task ever runs", t, s.ExecutorGPUs), Mend: TaskGPUs + " 1"}}
	case t == 0 && s.ExecutorGPUs > 0:
		return []Fault{{Setting: s.at(ExecutorGPUs), Warning: true, What: "executors hold a GPU, and no task asks for it", Mend: TaskGPUs + " 1"}}
	}
	return nil
}

// leftover: without RAPIDS nothing uses a GPU that tasks ask for, and Spark heeds what they ask for all the same.
func (s Spark) leftover(Machine) []Fault {
	if s.RAPIDS() || s.TaskGPUs <= 0 || s.TaskGPUs > float64(s.ExecutorGPUs) {
		return nil
	}
	byGPU, byCores := int(float64(s.ExecutorGPUs)/s.TaskGPUs), s.tasksByCores()
	if byCores > 0 && byCores <= byGPU {
		return nil
	}
	tasks := fmt.Sprintf("%d tasks", byGPU)
	if byGPU == 1 {
		tasks = "one task"
	}
	if byCores > 0 {
		tasks += fmt.Sprintf(", where its cores are enough for %d", byCores)
	}
	return []Fault{{Setting: s.at(TaskGPUs), Warning: true, What: fmt.Sprintf("RAPIDS is off, and what tasks ask of a GPU holds an executor to %s at a time", tasks),
		Mend: fmt.Sprintf("leave it out while RAPIDS is off, and %s too", ExecutorGPUs)}}
}

// sharing: tasks that share a GPU need a limit of how many do at once.
func (s Spark) sharing(Machine) []Fault {
	if s.TaskGPUs <= 0 || s.TaskGPUs > 0.5 || s.ConcurrentTasks > 0 {
		return nil
	}
	tasks, byCores := int(1/s.TaskGPUs), s.tasksByCores()
	f := Fault{Setting: s.at(TaskGPUs), Mend: TaskGPUs + " 1.0"}
	if s.Plugin {
		f.Mend += fmt.Sprintf(", or %s 2", ConcurrentTasks)
	}
	switch {
	case byCores == 1:
		return nil
	case byCores > 0 && byCores < tasks && s.CoresMax > 0: // so small an amount leaves the limit to the cores, and somebody has set them
		f.What, f.Warning = fmt.Sprintf("%d tasks share a GPU, and only the cores limit how many work on it at once", byCores), true
	default:
		f.What = fmt.Sprintf("%d tasks share a GPU, and nothing limits how many work on it at once: they run out of its memory, and their executor is lost", tasks)
	}
	return []Fault{f}
}

// tasksByCores is how many tasks an executor does at once by its cores, at least 1; 0 where the file does not say.
func (s Spark) tasksByCores() int {
	cores := s.ExecutorCores
	switch {
	case s.local():
		return 0
	case !s.standalone():
		cores = max(1, cores) // an executor has 1 core unless told, and the other masters do not heed spark.cores.max
	case s.CoresMax > 0:
		cores = min(cmp.Or(cores, s.CoresMax), s.CoresMax)
	}
	if cores == 0 {
		return 0
	}
	return max(1, cores/max(1, s.TaskCPUs))
}

// manyExecutors: each executor needs GPUs of its own.
func (s Spark) manyExecutors(m Machine) []Fault {
	gpus, known := s.gpus(m)
	if s.ExecutorGPUs == 0 || !known || s.standalone() && gpus < s.ExecutorGPUs || s.local() {
		return nil
	}
	fit := gpus / s.ExecutorGPUs
	one := "1 executor"
	if fit != 1 {
		one = fmt.Sprintf("%d executors", fit)
	}
	switch {
	case s.standalone() && s.CoresMax == 0 && s.ExecutorCores > 0:
		what := fmt.Sprintf("%s is not set: a worker starts an executor for every %d cores that it has, and the GPUs are for %s", CoresMax, s.ExecutorCores, one)
		if s.Executors > 0 {
			what += fmt.Sprintf(" (a standalone master does not heed %s, line %d)", Executors, s.at(Executors).Line)
		}
		return []Fault{{Setting: s.at(ExecutorCores), What: what, Mend: fmt.Sprintf("%s %d", CoresMax, fit*s.ExecutorCores)}}
	case s.standalone() && s.CoresMax > 0 && s.ExecutorCores > 0 && s.CoresMax/s.ExecutorCores > fit:
		return []Fault{{Setting: s.at(CoresMax), What: fmt.Sprintf("%d cores are %d executors of %d, and the GPUs are for %s", s.CoresMax, s.CoresMax/s.ExecutorCores, s.ExecutorCores, one),
			Mend: fmt.Sprintf("%s %d", CoresMax, fit*s.ExecutorCores)}}
	case !s.standalone() && fit == 0:
		return []Fault{{Setting: s.at(ExecutorGPUs), What: fmt.Sprintf("an executor asks for %d GPUs, and there are %d", s.ExecutorGPUs, gpus),
			Mend: fewerGPUs(gpus)}}
	case !s.standalone() && s.Executors > fit:
		return []Fault{{Setting: s.at(Executors), What: fmt.Sprintf("%d executors want %d GPUs, and there are %d", s.Executors, s.Executors*s.ExecutorGPUs, gpus),
			Mend: fmt.Sprintf("%s %d", Executors, fit)}}
	}
	return nil
}

// fewerGPUs is what to write where an executor asks for more GPUs than there are.
func fewerGPUs(n int) string {
	if n > 0 {
		return fmt.Sprintf("%s %d", ExecutorGPUs, n)
	}
	return fmt.Sprintf("%s 0, %s 0 and %s false", ExecutorGPUs, TaskGPUs, RAPIDSEnabled)
}

// noExecutor: an executor has to fit into what the application may take.
func (s Spark) noExecutor(Machine) []Fault {
	switch {
	case s.CoresMax > 0 && s.ExecutorCores > s.CoresMax:
		return []Fault{{Setting: s.at(CoresMax), What: fmt.Sprintf("an executor has %d cores, and the application may take %d: none is ever started", s.ExecutorCores, s.CoresMax),
			Mend: fmt.Sprintf("%s %d", CoresMax, s.ExecutorCores)}}
	case s.ExecutorCores > 0 && s.TaskCPUs > s.ExecutorCores:
		return []Fault{{Setting: s.at(TaskCPUs), What: fmt.Sprintf("a task takes %d cores, and an executor has %d: no task ever runs", s.TaskCPUs, s.ExecutorCores),
			Mend: fmt.Sprintf("%s %d", TaskCPUs, s.ExecutorCores)}}
	}
	return nil
}

// Count is how many executors a file makes, as far as it says; at least 1.
func (s Spark) Count() int {
	switch {
	case s.local():
		return 1
	case !s.standalone():
		return max(1, s.Executors)
	case s.CoresMax > 0 && s.ExecutorCores > 0:
		return max(1, s.CoresMax/s.ExecutorCores)
	}
	return 1 // of each worker
}

// versions: the plugin is built for some versions of Spark, and for one of Scala.
func (s Spark) versions(f *File) (faults []Fault) {
	plugins, sparks := f.components()
	for _, plugin := range plugins {
		for _, spark := range sparks {
			list, yes, known := supported(plugin.version, spark.version)
			switch {
			case spark.scala != "" && spark.scala != plugin.scala:
				faults = append(faults, Fault{Setting: plugin.Setting,
					What: fmt.Sprintf("the RAPIDS plugin is for Scala %s, and Spark (line %d) for Scala %s", plugin.scala, spark.Line, spark.scala),
					Mend: fmt.Sprintf("rapids-4-spark_%s, version %s", spark.scala, plugin.version)})
			case known && !yes:
				faults = append(faults, Fault{Setting: plugin.Setting,
					What: fmt.Sprintf("the RAPIDS plugin %s is not for Spark %s (line %d): it supports %s", plugin.version, spark.version, spark.Line, list),
					Mend: "a release of the plugin that names Spark " + spark.version})
			case !known && release(plugin.version) < oldest():
				faults = append(faults, Fault{Setting: plugin.Setting, Warning: true,
					What: fmt.Sprintf("the RAPIDS plugin %s is older than %s, the first of which it is known here what it supports", plugin.version, oldest()),
					Mend: fmt.Sprintf("a release of the plugin that names Spark %s (line %d)", spark.version, spark.Line)})
			}
		}
	}
	for i, spark := range sparks {
		if i > 0 && spark.version != sparks[0].version {
			faults = append(faults, Fault{Setting: spark.Setting,
				What: fmt.Sprintf("Spark %s, and line %d says %s", spark.version, sparks[0].Line, sparks[0].version), Mend: "one version of Spark in all of them"})
		}
	}
	return faults
}
