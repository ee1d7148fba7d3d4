// Package launch starts a platform's program in namespaces of its choosing,
// with its standard streams as the byte stream to the agent inside, and finds
// on the host what the program started. It knows no platform.
package launch
