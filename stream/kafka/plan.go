package kafka

import (
	"slices"

	"cancha/stream/plan"
)

// PlanInput implements stream.InputPlanner.
func (s source) PlanInput(in *plan.Input) {
	cfg := s.cfg()
	k := cfg.Security.plan(cfg.Brokers)
	k.Topics, k.Pattern, k.Group, k.Latest, k.Committed = cfg.names(), cfg.Pattern, cfg.Group, cfg.Start == Latest, cfg.Committed
	k.Offsets = map[string]map[int]int64{}
	if cfg.Offsets != nil {
		k.Offsets[cfg.Topic] = cfg.Offsets
	}
	for topic, offsets := range cfg.OffsetsOf {
		k.Offsets[topic] = offsets
	}
	in.Kafka = k
}

// PlanOutlet implements stream.OutletPlanner.
func (s *sink) PlanOutlet(out *plan.Outlet) {
	cfg := s.cfg()
	k := cfg.Security.plan(cfg.Brokers)
	k.Topics = []string{cfg.Topic}
	*out = plan.Outlet{Kind: "kafka", Kafka: k, Key: cfg.Key}
}

// plan is a way to brokers as another engine takes it.
func (s Security) plan(brokers []string) *plan.Kafka {
	k := &plan.Kafka{Brokers: slices.Clone(brokers), TLS: s.TLS != nil, User: s.User, Password: plan.Secret(s.Password)}
	k.Private = s.TLS != nil && (s.TLS.RootCAs != nil || len(s.TLS.Certificates) > 0 || s.TLS.GetClientCertificate != nil)
	if s.User != "" {
		k.Mechanism = s.mechanism()
	}
	return k
}
