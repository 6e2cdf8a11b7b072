package kubernetes

import (
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What KEDA (keda.sh/v1alpha1) and the Prometheus Operator (monitoring.coreos.com/v1) define, as far as it is used here: a field that is not among these is
// an error, so each that is added here has been looked up in their references.

// ScaledObject is KEDA's.
type ScaledObject struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		ScaleTargetRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int `json:"minReplicaCount"`
		MaxReplicaCount int `json:"maxReplicaCount"`
		PollingInterval int `json:"pollingInterval"`
		CooldownPeriod  int `json:"cooldownPeriod"`
		Triggers        []struct {
			Type       string   `json:"type"`
			MetricType string   `json:"metricType"`
			Metadata   struct { // of the scaler for Prometheus: all are texts
				ServerAddress       string `json:"serverAddress"`
				Query               string `json:"query"`
				Threshold           string `json:"threshold"`
				ActivationThreshold string `json:"activationThreshold"`
				IgnoreNullValues    string `json:"ignoreNullValues"`
			} `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// PrometheusRule is the operator's.
type PrometheusRule struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Groups []Group `json:"groups"`
	} `json:"spec"`
}

// Group is Prometheus's, in a file of rules and in a PrometheusRule.
type Group struct {
	Name  string `json:"name"`
	Rules []struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		For         string            `json:"for,omitempty"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"rules"`
}

// ServiceMonitor is the operator's.
type ServiceMonitor struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Selector  meta.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port          string `json:"port"`
			Path          string `json:"path"`
			Interval      string `json:"interval"`
			Authorization *struct {
				Credentials struct {
					Name string `json:"name"`
					Key  string `json:"key"`
				} `json:"credentials"`
			} `json:"authorization,omitempty"`
			Relabelings []struct {
				TargetLabel string `json:"targetLabel"`
				Replacement string `json:"replacement"`
			} `json:"relabelings,omitempty"`
		} `json:"endpoints"`
	} `json:"spec"`
}
