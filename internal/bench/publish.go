package bench

// PublishOption says that a platform publishes the port on which an instance serves: docker[publish=yes].
// Clients then call the platform's own address on the run's network, which passes on to the instance's.
const PublishOption = "publish"

// Publishes says that the platform's instances are called at a published port.
func (r PlatformRef) Publishes() bool { return r.Options[PublishOption] == "yes" }
