// Package agent is the end that runs inside every instance ([Serve]) and its client ([Dial]). They
// speak the protocol of docs/PROTOCOL.md over any byte stream: the standard streams of docker run,
// lxc-start or chroot, or a virtio-serial port.
//
// The agent runs commands, samples what the instance sees of itself and answers clock probes. It
// needs only /proc in the instance.
package agent
