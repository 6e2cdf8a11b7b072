package spark

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	plugins   = "spark.plugins"
	rapids    = "spark.rapids.sql.enabled"
	gpuPlugin = "com.nvidia.spark.SQLPlugin"
)

// ErrNoGPU is what UseGPU answers where the server cannot use GPUs: a session cannot change that, only the server's start.
var ErrNoGPU = errors.New("spark: the server was started without NVIDIA's plugin; its start needs the jar rapids-4-spark_2.13, " +
	"--conf spark.plugins=" + gpuPlugin + ", and GPUs given to executors by spark.executor.resource.gpu.amount and spark.task.resource.gpu.amount")

// UseGPU switches NVIDIA's plugin on or off for this session: what SQL and frames compute from now on, where the plugin has an operator for it;
// [DataFrame.Explain] tells which. Training in Spark ML is not switched by it. On a server without the plugin, on is ErrNoGPU and off changes nothing.
func (s *Session) UseGPU(ctx context.Context, on bool) error {
	has, err := s.hasGPU(ctx)
	switch {
	case err != nil:
		return err
	case !has && on:
		return ErrNoGPU
	case !has:
		return nil
	}
	return s.Set(ctx, rapids, strconv.FormatBool(on))
}

// GPU tells whether the session uses GPUs.
func (s *Session) GPU(ctx context.Context) (bool, error) {
	has, err := s.hasGPU(ctx)
	if err != nil || !has {
		return false, err
	}
	text, ok, err := s.Get(ctx, rapids)
	switch {
	case err != nil:
		return false, err
	case !ok:
		return true, nil // the plugin's default
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("spark: %s is %q, neither true nor false", rapids, text)
	}
	return on, nil
}

func (s *Session) hasGPU(ctx context.Context) (bool, error) {
	loaded, _, err := s.Get(ctx, plugins)
	return strings.Contains(loaded, gpuPlugin), err
}
