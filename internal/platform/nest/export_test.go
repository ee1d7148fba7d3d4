package nest

import "tare/internal/guest/agent"

// OuterAgent lets tests look into the outer guest.
func (i *instance) OuterAgent() *agent.Client { return i.agent }
