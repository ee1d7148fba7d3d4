package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
)

// check runs a pod on each node by each runtime class. It reads each one's log, runs a program in it,
// and lets each ask every other.
func (c cluster) check(ctx context.Context) error {
	type pod struct{ name, address string }
	var pods []pod
	var list bytes.Buffer
	for _, m := range members {
		for _, class := range classes {
			p := pod{name: "check-" + m.name + "-" + class}
			pods = append(pods, p)
			fmt.Fprintf(&list, `---
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: check}}
spec:
  runtimeClassName: %s
  nodeSelector: {kubernetes.io/hostname: %s}
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: %q, args: [answer]}]
`, p.name, class, m.name, pauseImage)
		}
	}
	defer func() {
		_, _ = c.kubectl(context.WithoutCancel(ctx), nil, "delete", "pods", "--selector", "app=check", "--ignore-not-found")
	}()
	// The account is made a moment after the cluster.
	if err := c.await(ctx, func() error {
		_, err := c.kubectl(ctx, nil, "get", "serviceaccount", "default")
		return err
	}); err != nil {
		return err
	}
	began := time.Now()
	if _, err := c.kubectl(ctx, &list, "apply", "-f", "-"); err != nil {
		return err
	}
	if _, err := c.kubectl(ctx, nil, "wait", "--for=condition=Ready", "--timeout=90s", "pods", "--selector", "app=check"); err != nil {
		told, _ := c.kubectl(ctx, nil, "describe", "pods", "--selector", "app=check")
		return fmt.Errorf("%w\n%s", err, told)
	}
	fmt.Printf("%d pods were ready after %.1f s\n", len(pods), time.Since(began).Seconds())
	for i, p := range pods {
		address, err := c.kubectl(ctx, nil, "get", "pod", p.name, "--output", "jsonpath={.status.podIP}")
		if err != nil {
			return err
		}
		pods[i].address = address
	}
	for _, p := range pods {
		log, err := c.kubectl(ctx, nil, "logs", p.name)
		if err != nil {
			return err
		}
		if !strings.Contains(log, "host "+p.name+",") || !strings.Contains(log, "API 200 OK") {
			return fmt.Errorf("the log of %s says %q", p.name, log)
		}
		fmt.Printf("%s: %s", p.name, log)
		for _, to := range pods {
			told, err := c.kubectl(ctx, nil, "exec", p.name, "--", "/cluster", "ask", to.address)
			if err != nil {
				return fmt.Errorf("%s asks %s: %w", p.name, to.name, err)
			}
			if !strings.Contains(told, "host "+to.name+",") {
				return fmt.Errorf("%s asks %s, and hears %q", p.name, to.name, told)
			}
		}
	}
	fmt.Printf("each reached all %d\n", len(pods))
	return nil
}
