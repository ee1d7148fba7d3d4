package overhead

import "tare/internal/bench"

// Words says an effect of the metric with its direction, as a report does:
// "7.1 % slower (5.0 to 9.3)". It reads the verdict, the ratio with its
// bounds, Why and Caution.
func Words(e *Effect, m bench.Metric, margin float64) string { return words(e, m, margin) }

// Change says a ratio of the metric: "7.1 % slower", "latency p95 12.0 % higher".
func Change(ratio float64, m bench.Metric) string { return change(ratio, m) }
