package session_test

import (
	"fmt"
	"os"
	"path/filepath"

	"cancha/runtime/session"
)

// What a session on Spark is to have, of a file that Spark's own driver is started with too.
func ExampleSparkSettings() {
	folder, err := os.MkdirTemp("", "settings-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "spark-defaults.conf")
	if err := os.WriteFile(file, []byte("spark.master spark://m:7077\nspark.executor.memory 4g\nspark.sql.shuffle.partitions 8\n"), 0o600); err != nil {
		panic(err)
	}
	defer os.Setenv(session.FileVariable, os.Getenv(session.FileVariable))
	os.Setenv(session.FileVariable, file)
	settings, err := session.SparkSettings()
	for _, s := range settings {
		fmt.Println(s.Key, s.Value)
	}
	fmt.Println(err)
	// Output:
	// spark.executor.memory 4g
	// spark.sql.shuffle.partitions 8
	// <nil>
}
