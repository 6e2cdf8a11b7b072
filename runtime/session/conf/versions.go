package conf

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// releases are the versions of Spark that releases of the RAPIDS Accelerator support, as its download pages say (docs/download.md and
// docs/archive.md of NVIDIA/spark-rapids): "3.2.0-4" is 3.2.0 to 3.2.4. A patch release supports what is named here or one more.
func releases() map[string]string {
	return map[string]string{
		"21.10": "3.0.1-3 3.1.1-2 3.2.0",
		"21.12": "3.0.1-3 3.1.1-2 3.2.0",
		"22.02": "3.0.1-3 3.1.1-2 3.2.0-1",
		"22.04": "3.1.1-3 3.2.0-1",
		"22.06": "3.1.1-3 3.2.0-1 3.3.0",
		"22.08": "3.1.1-3 3.2.0-2 3.3.0",
		"22.10": "3.1.1-3 3.2.0-2 3.3.0",
		"22.12": "3.1.1-3 3.2.0-3 3.3.0-1",
		"23.02": "3.1.1-3 3.2.0-3 3.3.0-1",
		"23.04": "3.1.1-3 3.2.0-3 3.3.0-2",
		"23.06": "3.1.1-3 3.2.0-4 3.3.0-2 3.4.0",
		"23.08": "3.1.1-3 3.2.0-4 3.3.0-2 3.4.0-1 3.5.0",
		"23.10": "3.2.0-4 3.3.0-3 3.4.0-1 3.5.0",
		"23.12": "3.2.0-4 3.3.0-3 3.4.0-1 3.5.0",
		"24.02": "3.2.0-4 3.3.0-3 3.4.0-2 3.5.0",
		"24.04": "3.2.0-4 3.3.0-4 3.4.0-2 3.5.0-1",
		"24.06": "3.2.0-4 3.3.0-4 3.4.0-3 3.5.0-1",
		"24.08": "3.2.0-4 3.3.0-4 3.4.0-3 3.5.0-1",
		"24.10": "3.2.0-4 3.3.0-4 3.4.0-3 3.5.0-2",
		"24.12": "3.2.0-4 3.3.0-4 3.4.0-4 3.5.0-4",
		"25.02": "3.2.0-4 3.3.0-4 3.4.0-4 3.5.0-5",
		"25.04": "3.2.0-4 3.3.0-4 3.4.0-4 3.5.0-6",
		"25.06": "3.2.0-4 3.3.0-4 3.4.0-4 3.5.0-6",
		"25.08": "3.2.0-4 3.3.0-4 3.4.0-4 3.5.0-6 4.0.0",
		"25.10": "3.2.0-4 3.3.0-4 3.4.0-4 3.5.0-6 4.0.0-1",
		"26.02": "3.3.0-4 3.4.0-4 3.5.0-7 4.0.0-1 4.1.1",
		"26.04": "3.3.0-4 3.4.0-4 3.5.0-8 4.0.0-2 4.1.1",
		"26.06": "3.3.0-4 3.4.0-4 3.5.0-8 4.0.0-3 4.1.1",
	}
}

// supported lists, for messages, and tells for one version of Spark, what a release of the plugin supports. Known is false for a release
// that is not in the list.
func supported(plugin, spark string) (list string, yes, known bool) {
	list, known = releases()[release(plugin)]
	for part := range strings.FieldsSeq(list) {
		yes = yes || within(part, spark)
	}
	return strings.ReplaceAll(list, " ", ", "), yes, known
}

// release is the release that a version of the plugin is of, as the list has it: "24.02"; "" where it names none.
func release(plugin string) string {
	parts := strings.SplitN(plugin, ".", 3)
	if len(parts) < 2 {
		return ""
	}
	if len(parts[1]) == 1 { // Maven sorts 24.2 and 24.02 alike
		parts[1] = "0" + parts[1]
	}
	return parts[0] + "." + parts[1]
}

// oldest is the first release of the list.
func oldest() string { return slices.Min(slices.Collect(maps.Keys(releases()))) }

// within tells whether a version is one of those that "3.2.0-4" stands for.
func within(part, version string) bool {
	from, to, _ := strings.Cut(part, "-")
	dot := strings.LastIndex(from, ".")
	patch, ok := strings.CutPrefix(version, from[:dot+1])
	n, err := strconv.Atoi(patch)
	least, _ := strconv.Atoi(from[dot+1:]) // the list's own numbers
	most := least
	if to != "" {
		most, _ = strconv.Atoi(to)
	}
	return ok && err == nil && n >= least && n <= most
}

// The forms in which settings name what they load.
var (
	pluginArtifact = regexp.MustCompile(`rapids-4-spark_(\d\.\d+)[-:](\d+\.\d+\.\d+)`)
	sparkArtifact  = regexp.MustCompile(`(?:org\.apache\.spark:spark-[a-z0-9-]+|\bspark-(?:core|sql|hive|mllib|avro|protobuf|connect|streaming|(?:sql|streaming|token-provider)-kafka-0-10))_(\d\.\d+)[-:](\d+\.\d+\.\d+)`)
	sparkFolder    = regexp.MustCompile(`/spark-(\d+\.\d+\.\d+)(?:-bin[^/]*)?/`)
	shuffleManager = regexp.MustCompile(`com\.nvidia\.spark\.rapids\.spark(\d)(\d)(\d+)\.RapidsShuffleManager`)
)

// component is a library that a setting names.
type component struct {
	Setting
	scala, version string // "" where it does not say
}

// components returns what settings load of the plugin and of Spark itself.
func (f *File) components() (plugin, spark []component) {
	for _, s := range f.Settings {
		if !strings.HasPrefix(s.Key, "spark.") {
			continue
		}
		for _, m := range pluginArtifact.FindAllStringSubmatch(s.Value, -1) {
			plugin = append(plugin, component{s, m[1], m[2]})
		}
		for _, m := range sparkArtifact.FindAllStringSubmatch(s.Value, -1) {
			spark = append(spark, component{s, m[1], m[2]})
		}
		for _, m := range sparkFolder.FindAllStringSubmatch(s.Value, -1) {
			spark = append(spark, component{s, "", m[1]})
		}
		if m := shuffleManager.FindStringSubmatch(s.Value); m != nil {
			spark = append(spark, component{s, "", m[1] + "." + m[2] + "." + m[3]})
		}
	}
	return plugin, spark
}

// largestShare is what a task may ask of a GPU, short of whole ones: 0.5, and 1 from Spark 4 on (SPARK-45527). A file that does not say which
// Spark it is for, or says both, may be for an earlier one.
func (f *File) largestShare() float64 {
	_, sparks := f.components()
	for _, spark := range sparks {
		major, _, _ := strings.Cut(spark.version, ".")
		if n, err := strconv.Atoi(major); err != nil || n < 4 {
			return 0.5
		}
	}
	if len(sparks) == 0 {
		return 0.5
	}
	return 1
}
